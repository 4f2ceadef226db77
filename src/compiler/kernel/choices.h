// Choices between arrays by one condition: what only one side needs is left out by a branch.
#pragma once
#include <optional>

#include "compiler/kernel/cluster.h"

namespace tercel::kernel {

// Where what nothing but operand `side` of a select needs costs more than a branch: those of the
// values it is made of that others need, too.
std::optional<ir::Values> neededBeside(const ir::Module& module, const Cluster& cluster,
                                       const ir::Op& select, size_t side);

}  // namespace tercel::kernel
