// Each output element on its own: elementwise work, movement, gathers, and small sums.
#include "compiler/kernel/nest.h"
#include "compiler/kernel/nest_transpose.h"
#include "compiler/kernel/tasks.h"

namespace tercel::kernel {

Status lowerLoop(Lowering& low) {
  if (lowerJoined(low) || lowerJoinedLines(low) || lowerInterleaved(low) || lowerPermuted(low) ||
      lowerTransposed(low))
    return Status();
  const Dims& dims = low.module.shape(low.cluster.outputs[0]).dims;
  emitElementLoops(low, dims, [&](Emitter& e, const Indices& at) {
    storeOutputs(low, e, dims, at);
  });
  return Status();
}

}  // namespace tercel::kernel
