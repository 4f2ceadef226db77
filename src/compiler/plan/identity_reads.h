// Which inputs a cluster reads only at the very element it is about to write.
#pragma once
#include "compiler/kernel/cluster.h"

namespace tercel::plan {

// For each input, whether this output, if of the same byte size, may take its memory.
std::vector<bool> identityReads(const ir::Module& module, const kernel::Cluster& cluster,
                                ir::Value output);

}  // namespace tercel::plan
