// The loop nest's variant for clusters that turn memory.
#pragma once
#include "compiler/kernel/nest.h"

namespace tercel::kernel {

// False, and nothing emitted, where no tiles of a transposed operand can be turned in registers.
bool lowerTransposed(Lowering& low);

}  // namespace tercel::kernel
