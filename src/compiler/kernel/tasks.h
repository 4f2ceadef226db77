// Loops over a domain with the innermost one vectorised, shared out as tasks.
#pragma once
#include "compiler/kernel/nest.h"

namespace tercel::kernel {

// Emits `evaluate` for each element of the domain into low.kernel and sets its tasks.
void emitElementLoops(Lowering& low, const Dims& domain, const Evaluate& evaluate);

}  // namespace tercel::kernel
