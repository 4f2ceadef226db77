// What the kernel of a cluster takes as params instead of having it in its code.
#pragma once
#include <vector>

#include "compiler/kernel/cluster.h"

namespace tercel::plan {

// Real splat constants that only arithmetic uses. Those that arithmetic is simplified by (0, 1, -1)
// stay in the code, as do infinities and NaNs.
std::vector<ir::Value> numbersOf(const ir::Module& module, const kernel::Cluster& cluster);

// Slices of inputs that no output shares memory with; none where there are so many that their
// addresses would fill the registers.
std::vector<ir::Value> slicesOf(const ir::Module& module, const kernel::Cluster& cluster);

}  // namespace tercel::plan
