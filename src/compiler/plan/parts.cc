#include "compiler/plan/parts.h"

#include <algorithm>

namespace tercel::plan {

using ir::AttrKey;

bool isPart(const ir::Module& m, const kernel::Cluster& loop, const Dims& dims, const ir::Op& op) {
  return op.kind == ir::OpKind::slice_ && m.shape(op.result()).dims == dims &&
         std::ranges::find(loop.inputs, op.operand(0)) != loop.inputs.end();
}

std::optional<Span> partsOf(const ir::Module& m, const kernel::Cluster& loop, const Dims& dims,
                            ir::Value v) {
  std::optional<Span> all;
  const Dims& whole = m.shape(v).dims;
  for (ir::OpId id : loop.ops) {
    const ir::Op& op = m.op(id);
    if (!isPart(m, loop, dims, op) || op.operand(0) != v) continue;
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

bool storesLines(const ir::Module& m, const kernel::Cluster& loop, const Dims& dims) {
  constexpr int64_t kLineBytes = 64;
  const auto element = static_cast<int64_t>(kernel::widestElement(m, loop));
  return !dims.empty() && dims.back() * element % kLineBytes == 0;
}

}  // namespace tercel::plan
