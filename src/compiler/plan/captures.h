// The values from outside that an op's regions read.
#pragma once
#include <vector>

#include "compiler/ir/module.h"

namespace tercel::plan {

std::vector<ir::Value> captures(const ir::Module& module, const ir::Op& op);

}  // namespace tercel::plan
