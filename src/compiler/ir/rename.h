// Other values in the place of some, wherever those are read.
#pragma once
#include <unordered_map>

#include "compiler/ir/module.h"

namespace tercel::ir {

// By value: what stands for it, which may itself have been renamed.
using Renamed = std::unordered_map<uint32_t, Value>;

void rename(Module& module, RegionId region, const Renamed& renamed);

}  // namespace tercel::ir
