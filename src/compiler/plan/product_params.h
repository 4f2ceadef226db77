// Which params of a kernel are multiplied by each other, and read for nothing else.
#pragma once
#include <optional>

#include "compiler/kernel/cluster.h"
#include "program/product_slots.h"

namespace tercel::plan {

// Those of a dot_general of two matrices; both f32. Ops that only move elements may
// stand between. `sums` is the param of the output, the first after the inputs, where that is all
// there is. `first_slice` is the first param that is one of cluster.slices.
std::optional<program::ProductSlots> productParams(const ir::Module& module,
                                                   const kernel::Cluster& cluster,
                                                   uint32_t first_slice);

}  // namespace tercel::plan
