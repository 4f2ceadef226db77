// Which inputs a cluster reads only at the very element it is about to write.
#pragma once
#include "compiler/kernel/cluster.h"

namespace tercel::plan {

// For each input, whether this output, if of the same byte size, may take its memory.
std::vector<bool> identityReads(const ir::Module& module, const kernel::Cluster& cluster,
                                ir::Value output);

// Whether the cluster of an op that updates its operand `o` in place reads that operand besides,
bool readsBesides(const ir::Module& module, const kernel::Cluster& cluster, const ir::Op& op,
                  size_t o);
// and so that what it needs may have been written over.
bool readsElsewhere(const ir::Module& module, const kernel::Cluster& cluster, const ir::Op& op,
                    size_t o);

}  // namespace tercel::plan
