// What a Program says of itself to its callers.
#pragma once
#include "compiler/ir/module.h"
#include "program/program.h"

namespace tercel::plan {

// Name, arguments and results of main.
void describeSignature(const ir::Module& module, program::Program& program);

}  // namespace tercel::plan
