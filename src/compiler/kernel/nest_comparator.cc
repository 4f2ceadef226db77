// A sort's comparator: kernel(params = the operands, i, j, scratch) sets scratch[0] to whether
// element i goes before element j.
#include "compiler/kernel/nest.h"

namespace tercel::kernel {

Result<Kernel> lowerComparator(const ir::Module& m, const Cluster& cluster,
                               const Machine& machine) {
  Lowering low(m, cluster, machine);
  const ir::Op& op = m.op(cluster.ops[0]);
  Builder& b = low.builder;
  IndexSpace space(b);
  Emitter e(b, space, m, 1);
  BufferId answer = b.addScratch(Scalar::i1, 1);
  constexpr int64_t kAny = int64_t{1} << 40;
  Index i = space.scalar(b.taskBegin(), kAny), j = space.scalar(b.taskEnd(), kAny);
  std::vector<Elem> args;
  for (size_t k = 0; k < op.operands.size(); ++k) {
    DType dtype = m.shape(op.operand(k)).dtype;
    BufferId buffer = static_cast<BufferId>(low.input_buffers[inputOf(cluster, op.operand(k))]);
    args.push_back(e.loadAt(buffer, dtype, i));
    args.push_back(e.loadAt(buffer, dtype, j));
  }
  e.storeAt(answer, DType::pred, Index(0), e.runRegion(op.regions[0], args)[0]);
  return std::move(low.kernel);
}

}  // namespace tercel::kernel
