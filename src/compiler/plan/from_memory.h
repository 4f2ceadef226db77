// Values that need no memory of their own: what little work makes them of one array can be done again
// by each cluster that reads them, as a gradient does with what the function before it computed.
#pragma once
#include "compiler/plan/region_uses.h"

namespace tercel::plan {

// Where the op there does cheap work on one array, or on what follows from one so: that array, which is
// in memory whatever becomes of the value.
std::optional<ir::Value> memoryBehind(const ir::Module& module, ir::RegionId region,
                                      const RegionUses& uses, uint32_t position);

// Whether what such an op reads besides the array is constants of one number.
bool readsNumbersBeside(const ir::Module& module, const ir::Op& op);

}  // namespace tercel::plan
