// The loop nest's variant for clusters that turn memory.
#pragma once
#include <optional>

#include "compiler/kernel/nest.h"

namespace tercel::kernel {

// Empty where no tiles of a transposed operand can be turned in registers.
std::optional<Kernel> lowerTransposed(const ir::Module&, const Cluster&, const Machine&);

}  // namespace tercel::kernel
