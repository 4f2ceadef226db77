// Scratch memory as values: what is only stored and loaded whole, at places known now.
#pragma once
#include "compiler/kernel/kernel.h"

namespace tercel::kernel {

// Buffers of which each part is always the same vector (or number) are carried through loops and
// branches as values, which codegen keeps in registers; their loads and stores are gone.
void promoteScratch(Kernel& kernel);

}  // namespace tercel::kernel
