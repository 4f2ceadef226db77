// Which inputs a cluster reads only at the very element it is about to write.
#pragma once
#include "compiler/kernel/cluster.h"

namespace tercel::plan {

// For each input, whether an output of the same byte size may take its memory.
std::vector<bool> identityReads(const ir::Module& module, const kernel::Cluster& cluster);

}  // namespace tercel::plan
