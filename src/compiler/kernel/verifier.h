// Checks a kernel against the rules of the IR: each value is defined once and before its uses,
// every instruction gets the types it wants, buffers and blocks exist.
#pragma once
#include "compiler/kernel/kernel.h"
#include "core/status.h"

namespace tercel::kernel {

// INTERNAL with the instruction's text and what is wrong with it.
Status verify(const Kernel& kernel);

}  // namespace tercel::kernel
