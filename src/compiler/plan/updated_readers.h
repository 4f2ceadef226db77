// What stays out of the kernel of an update in place.
#pragma once
#include <vector>

#include "compiler/plan/region_uses.h"

namespace tercel::plan {

// The positions in the region of what depends on the array that the update at `p` writes to, but for
// the elements in the place of those written. None where that array lives on, and is copied.
std::vector<bool> readersOfUpdated(const ir::Module& module, ir::RegionId region,
                                   const RegionUses& uses, uint32_t p);

}  // namespace tercel::plan
