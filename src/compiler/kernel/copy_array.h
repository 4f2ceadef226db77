// An array from one buffer into another.
#pragma once
#include "compiler/kernel/emitter.h"

namespace tercel::kernel {

// Complex numbers lie in pairs in params, their parts apart in scratch memory.
void copyArray(Builder& builder, const ir::Module& module, BufferId from, BufferId to,
               const Shape& shape);

}  // namespace tercel::kernel
