// Which params of a kernel are multiplied by each other, and read for nothing else.
#pragma once
#include <array>
#include <optional>

#include "compiler/kernel/cluster.h"

namespace tercel::plan {

// Those of a dot_general, or of a multiply beside a reduce; both f32. Ops that only move elements may
// stand between. `first_slice` is the first param that is one of cluster.slices.
std::optional<std::array<uint32_t, 2>> productParams(const ir::Module& module,
                                                     const kernel::Cluster& cluster,
                                                     uint32_t first_slice);

}  // namespace tercel::plan
