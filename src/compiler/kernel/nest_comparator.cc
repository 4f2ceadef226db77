// A sort's comparator: kernel(params = the operands, i, j, scratch) sets scratch[0] to whether
// element i goes before element j.
#include "compiler/kernel/nest.h"

namespace tercel::kernel {

Status lowerComparator(Lowering& low) {
  const ir::Module& m = low.module;
  const Cluster& cluster = low.cluster;
  const ir::Op& op = m.op(cluster.ops[0]);
  Builder& b = low.builder;
  IndexSpace space(b);
  Emitter e(b, space, m, 1);
  // No memory of the kernel's own, which would end with it: the caller reads what lies there.
  BufferId answer = b.addScratch(Scalar::i1, 0);
  constexpr int64_t kAny = int64_t{1} << 40;
  Index i = space.scalar(b.taskBegin(), kAny), j = space.scalar(b.taskEnd(), kAny);
  std::vector<Elem> args;
  for (size_t k = 0; k < op.operands.size(); ++k) {
    DType dtype = m.shape(op.operand(k)).dtype;
    // The params are the inputs, in order.
    BufferId buffer = static_cast<BufferId>(inputOf(cluster, op.operand(k)));
    args.push_back(e.loadAt(buffer, dtype, i));
    args.push_back(e.loadAt(buffer, dtype, j));
  }
  e.storeAt(answer, DType::pred, Index(0), e.runRegion(op.regions[0], args)[0]);
  return Status();
}

}  // namespace tercel::kernel
