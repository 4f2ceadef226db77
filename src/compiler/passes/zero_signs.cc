#include "compiler/passes/zero_signs.h"

#include <algorithm>

#include "compiler/passes/constants.h"
#include "compiler/passes/monoid.h"

namespace tercel::passes {
using namespace ir;

void ZeroSigns::enterLoop(const Rewriter& rw, const Op& loop) {
  const Region& body = rw.module().region(loop.regions[1]);
  for (size_t i = 0; i < body.args.size(); ++i)
    carried_[body.args[i].index] = {loop.operand(i), body.results[i]};
}

bool ZeroSigns::visit(const Rewriter& rw, Value v, int depth) {
  if (rw.module().type(v).is_token || isComplex(rw.shape(v).dtype)) return false;
  if (!isFloat(rw.shape(v).dtype)) return true;
  if (depth == 0) return false;
  const Op* op = rw.def(v);
  if (!op) return visitCarried(rw, v, depth);
  auto never = [&](size_t i) { return visit(rw, op->operand(i), depth - 1); };
  auto adds = [&] { return reducerKind(rw.module(), op->regions[0]) == OpKind::add_; };
  switch (op->kind) {
    case OpKind::constant_: return !isSplat(rw, v, -0.0) && op->literal().isSplat();
    case OpKind::abs_:
    case OpKind::exponential_:
    case OpKind::iota_: return true;
    // Sums begin at +0, and +0 - 0 is +0. Of what underflows the sign may be lost.
    case OpKind::dot_general_:
    case OpKind::convolution_: return true;
    case OpKind::add_: return never(0) || never(1);
    case OpKind::reduce_: return op->operands.size() == 2 && adds() && never(1);
    case OpKind::scatter_: return op->operands.size() == 3 && adds() && never(0);
    case OpKind::convert_: {
      const DType from = rw.shape(op->operand(0)).dtype;
      return !isFloat(from) && !isComplex(from);
    }
    case OpKind::dynamic_update_slice_: return never(0) && never(1);
    case OpKind::pad_: return never(0) && never(1);
    case OpKind::select_: return never(1) && never(2);
    case OpKind::reshape_:
    case OpKind::transpose_:
    case OpKind::reverse_:
    case OpKind::slice_:
    case OpKind::dynamic_slice_:
    case OpKind::gather_:
    case OpKind::broadcast_in_dim_: return never(0);
    default: return false;
  }
}

bool ZeroSigns::visitCarried(const Rewriter& rw, Value v, int depth) {
  const auto at = carried_.find(v.index);
  if (at == carried_.end()) return false;
  if (std::ranges::count(assumed_, v.index)) return true;
  assumed_.push_back(v.index);
  const bool never = visit(rw, at->second.start, depth - 1) && visit(rw, at->second.next, depth - 1);
  assumed_.pop_back();
  return never;
}

}  // namespace tercel::passes
