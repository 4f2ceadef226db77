// dynamic_update_slice in place: only the updated part is written. The output's memory holds the
// operand when the kernel starts.
#include "compiler/kernel/nest.h"
#include "compiler/kernel/tasks.h"

namespace tercel::kernel {

Status lowerUpdate(Lowering& low) {
  const ir::Module& m = low.module;
  const Cluster& cluster = low.cluster;
  const ir::Op& op = *m.def(cluster.outputs[0]);
  const Dims& dims = m.shape(op.operand(0)).dims;
  const Dims& sizes = m.shape(op.operand(1)).dims;
  emitElementLoops(low, sizes, [&](Emitter& e, const Indices& at) {
    Indices where;
    for (size_t d = 0; d < dims.size(); ++d)
      where.push_back(
          e.space().add(e.clampedIndex(op.operand(2 + d), {}, dims[d] - sizes[d]), at[d]));
    Elem value = e.at(op.operand(1), at);
    low.storeOutput(e, 0, e.space().linear(where, dims), value);
  });
  return Status();
}

}  // namespace tercel::kernel
