// Merges clusters of element loops, and of reductions that go over their operands alike: what reads
// the same arrays, or what the other one makes, goes through memory once.
#pragma once
#include <vector>

#include "compiler/ir/module.h"
#include "compiler/kernel/cluster.h"

namespace tercel::plan {

// `units` are those of `region`, in order; so are the merged ones.
std::vector<kernel::Unit> mergeClusters(const ir::Module& module, ir::RegionId region,
                                        std::vector<kernel::Unit> units);

}  // namespace tercel::plan
