// Instructions whose results nothing reads.
#pragma once
#include "compiler/kernel/kernel.h"

namespace tercel::kernel {

// Takes the pure ones out of their blocks.
void removeUnused(Kernel& kernel);

}  // namespace tercel::kernel
