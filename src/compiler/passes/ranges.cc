#include "compiler/passes/ranges.h"

#include <cmath>

#include "compiler/ir/parallel_loop.h"
#include "compiler/passes/constants.h"
#include "compiler/passes/monoid.h"

namespace tercel::passes {
using namespace ir;
namespace {

bool allNonNegative(const Rewriter& rw, const Values& values, int depth) {
  for (Value v : values)
    if (!isNonNegative(rw, v, depth)) return false;
  return true;
}

bool reducesNonNegative(const Rewriter& rw, const Op& op, int depth) {
  if (op.results.size() != 1) return false;
  std::optional<OpKind> kind = reducerKind(rw.module(), op.regions[0]);
  if (kind == OpKind::maximum_) return isNonNegative(rw, op.operand(1), depth);
  bool keeps = kind == OpKind::add_ || kind == OpKind::multiply_ || kind == OpKind::minimum_;
  return keeps && allNonNegative(rw, op.operands, depth);
}

}  // namespace

bool isNonNegative(const Rewriter& rw, Value v, int depth) {
  if (const Literal* splat = splatOf(rw, v)) {
    if (!isFloat(splat->shape().dtype)) return false;
    return !std::signbit(splat->number(0));
  }
  const Op* op = rw.def(v);
  if (!op || depth == 0 || !isFloat(rw.shape(v).dtype)) return false;
  switch (op->kind) {
    case OpKind::abs_:
    case OpKind::exponential_:
    case OpKind::logistic_:
      return true;
    case OpKind::add_:
    case OpKind::divide_:
    case OpKind::minimum_:
      return allNonNegative(rw, op->operands, depth - 1);
    case OpKind::multiply_:
      return op->operand(0) == op->operand(1) || allNonNegative(rw, op->operands, depth - 1);
    case OpKind::maximum_:
      return isNonNegative(rw, op->operand(0), depth - 1) ||
             isNonNegative(rw, op->operand(1), depth - 1);
    case OpKind::select_:
      return isNonNegative(rw, op->operand(1), depth - 1) &&
             isNonNegative(rw, op->operand(2), depth - 1);
    case OpKind::convert_: {
      DType from = rw.shape(op->operand(0)).dtype;
      return isPred(from) || isInteger(from) ? !isSigned(from)
                                             : isNonNegative(rw, op->operand(0), depth - 1);
    }
    case OpKind::broadcast_in_dim_:
    case OpKind::reshape_:
    case OpKind::slice_:
    case OpKind::sqrt_:
    case OpKind::transpose_:
      return isNonNegative(rw, op->operand(0), depth - 1);
    case OpKind::reduce_:
      return reducesNonNegative(rw, *op, depth - 1);
    default:
      return false;
  }
}

namespace {

// Far inside of 32 bits, so that sums and steps of a few ranges do not wrap.
constexpr int64_t kFar = int64_t{1} << 28;

bool isWide(DType t) { return isInteger(t) && byteSize(t) >= 4; }

std::optional<Range> within(Range r) {
  if (r.low < -kFar || r.high > kFar || r.low > r.high) return {};
  return r;
}

}  // namespace

std::optional<Counter> counterOf(const Rewriter& rw, const Op& loop) {
  const auto found = counting(rw.module(), loop);
  if (!found || !isWide(rw.shape(found->first).dtype)) return {};
  const auto first = scalarInteger(rw, found->first), limit = scalarInteger(rw, found->limit);
  const auto step = scalarInteger(rw, found->step);
  if (!first || !limit || !step || *step < 1 || *step > kFar) return {};
  if (!within({*first, *limit - 1})) return {};
  return Counter{found->counter, *first, *step, *limit};
}

void IntegerRanges::enterRegion(const Rewriter& rw, RegionId region, OpId owner) {
  if (!owner.valid() || rw.op(owner).kind != OpKind::while_) return;
  const Op& loop = rw.op(owner);
  if (region != loop.regions[1]) return;
  if (std::optional<Counter> counter = counterOf(rw, loop))
    counters_[rw.module().region(region).args[counter->lane].index] = {counter->first,
                                                                       counter->limit - 1};
}

std::optional<Range> IntegerRanges::of(const Rewriter& rw, Value v, int depth) const {
  if (rw.shape(v).rank() != 0 || !isWide(rw.shape(v).dtype)) return {};
  if (auto found = counters_.find(v.index); found != counters_.end()) return found->second;
  if (std::optional<int64_t> number = scalarInteger(rw, v)) return within({*number, *number});
  const Op* op = rw.def(v);
  if (!op || depth == 0) return {};
  std::optional<Range> r = ofOp(rw, *op, depth);
  if (!r || (isUnsigned(rw.shape(v).dtype) && r->low < 0)) return {};  // it wraps
  return within(*r);
}

std::optional<Range> IntegerRanges::ofOp(const Rewriter& rw, const Op& op, int depth) const {
  if (op.kind == OpKind::convert_) return of(rw, op.operand(0), depth - 1);
  if (op.kind != OpKind::add_ && op.kind != OpKind::subtract_) return {};
  std::optional<Range> a = of(rw, op.operand(0), depth - 1);
  std::optional<Range> b = a ? of(rw, op.operand(1), depth - 1) : a;
  if (!b) return {};
  return op.kind == OpKind::add_ ? Range{a->low + b->low, a->high + b->high}
                                 : Range{a->low - b->high, a->high - b->low};
}

std::optional<bool> decided(std::string_view direction, Range a, Range b) {
  bool less = a.high<b.low, greater = a.low> b.high;
  bool less_equal = a.high <= b.low, greater_equal = a.low >= b.high;
  if (direction == "LT" && (less || greater_equal)) return less;
  if (direction == "GE" && (less || greater_equal)) return greater_equal;
  if (direction == "GT" && (greater || less_equal)) return greater;
  if (direction == "LE" && (greater || less_equal)) return less_equal;
  if ((direction == "EQ" || direction == "NE") && (less || greater)) return direction == "NE";
  return {};
}

std::optional<bool> IntegerRanges::decides(const Rewriter& rw, const Op& compare) const {
  if (counters_.empty() || rw.shape(compare.result()).rank() != 0) return {};
  std::optional<Range> a = of(rw, compare.operand(0));
  std::optional<Range> b = a ? of(rw, compare.operand(1)) : a;
  if (!b) return {};
  return decided(compare.symbol(AttrKey::comparison_direction), *a, *b);
}

}  // namespace tercel::passes
