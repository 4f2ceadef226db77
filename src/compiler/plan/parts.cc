#include "compiler/plan/parts.h"

#include <algorithm>

#include "compiler/kernel/nest.h"

namespace tercel::plan {

using ir::AttrKey;

static const Dims& dimsOf(const ir::Module& m, const kernel::Cluster& loop) {
  return m.shape(loop.outputs[0]).dims;
}

bool isPart(const ir::Module& m, const kernel::Cluster& loop, const ir::Op& op) {
  return op.kind == ir::OpKind::slice_ && m.shape(op.result()).dims == dimsOf(m, loop) &&
         std::ranges::find(loop.inputs, op.operand(0)) != loop.inputs.end();
}

std::optional<Span> partsOf(const ir::Module& m, const kernel::Cluster& loop, ir::Value v) {
  std::optional<Span> all;
  const Dims &dims = dimsOf(m, loop), &whole = m.shape(v).dims;
  for (ir::OpId id : loop.ops) {
    const ir::Op& op = m.op(id);
    if (!isPart(m, loop, op) || op.operand(0) != v) continue;
    Span own;
    for (size_t d = 0; d < whole.size(); ++d) {
      const int64_t start = op.ints(AttrKey::start_indices)[d];
      const int64_t length = (dims[d] - 1) * op.ints(AttrKey::strides)[d];
      own.first = own.first * whole[d] + start;
      own.last = own.last * whole[d] + start + length;
    }
    all = all ? Span{std::min(all->first, own.first), std::max(all->last, own.last)} : own;
  }
  return all;
}

bool lieTogether(Span a, Span b) {
  const int64_t both = std::min(a.last, b.last) - std::max(a.first, b.first);
  return 2 * both >= std::min(a.last - a.first, b.last - b.first);
}

bool storesLines(const ir::Module& m, const kernel::Cluster& loop) {
  const Dims& dims = dimsOf(m, loop);
  const auto element = static_cast<int64_t>(kernel::widestElement(m, loop));
  return !dims.empty() && dims.back() * element % kernel::kLineBytes == 0;
}

}  // namespace tercel::plan
