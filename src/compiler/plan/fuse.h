// Fusion: which ops of a region one kernel computes together.
//
// Ops are visited last to first. An op joins the cluster of its users when all of them are in one
// cluster and evaluating it there costs little more than evaluating it once; else it is the root of a
// new cluster, and its value goes through memory. What joins so can never close a cycle.
#pragma once
#include <vector>

#include "compiler/kernel/cluster.h"
#include "compiler/ir/module.h"

namespace tercel::plan {

using kernel::Unit;

// The units of a region in an order that respects all dependences. The region's results and
// whatever steps or nested regions read are outputs.
std::vector<Unit> fuse(const ir::Module& module, ir::RegionId region);

}  // namespace tercel::plan
