// What pipeline.h says of a module that has been through the whole pipeline.
#pragma once
#include <string>

#include "compiler/ir/module.h"

namespace tercel::passes {

// The first op that breaks the contract, as text, and why; empty where none does.
std::string contractViolation(const ir::Module& module);

}  // namespace tercel::passes
