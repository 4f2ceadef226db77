// Memory inside a region kernel: which values take that of others, so that an array which a loop
// updates stays where it is.
#pragma once
#include "compiler/kernel/cluster.h"

namespace tercel::plan {

// Fills cluster.shares. Returns the elements of the largest array that is copied inside all the same;
// what enters and leaves the kernel does not count.
int64_t shareMemory(const ir::Module& module, kernel::Cluster& cluster);

}  // namespace tercel::plan
