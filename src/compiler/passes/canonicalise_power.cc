// Powers whose exponents are small whole numbers that differ along an array (x[:, None] ** arange(4)):
// products of x, its square and so on, of those that the exponent's bits say.
#include <algorithm>
#include <cmath>

#include "compiler/passes/element_range.h"
#include "compiler/passes/rules.h"

namespace tercel::passes {
using namespace ir;
namespace {

constexpr int64_t kMostExponent = 8;  // no more than 4 roundings on the way
constexpr int64_t kMostSummand = 1 << 20;  // whose sums are exact

// Between which numbers floats lie that are whole by the way they are made; nothing where they may be
// others.
std::optional<Range> wholeRange(const Rewriter& rw, Value v, int depth = 4) {
  const Op* op = rw.def(v);
  if (!op || depth == 0) return {};
  auto of = [&](size_t i) { return wholeRange(rw, op->operand(i), depth - 1); };
  switch (op->kind) {
    case OpKind::iota_:
      return Range{0, rw.shape(v).dims[op->integer(AttrKey::iota_dimension)] - 1};
    case OpKind::convert_:
      if (!hasRange(rw.shape(op->operand(0)).dtype)) return {};
      return ElementRanges().of(rw, op->operand(0));
    case OpKind::constant_: {
      Range range{INT32_MAX, INT32_MIN};
      for (int64_t i = 0; i < op->literal().shape().elements(); ++i) {
        const double number = op->literal().number(i);
        if (!(std::abs(number) <= kMostExponent) || number != std::floor(number)) return {};
        const auto whole = static_cast<int64_t>(number);
        range = {std::min(range.low, whole), std::max(range.high, whole)};
      }
      return range;
    }
    case OpKind::add_:
    case OpKind::subtract_: {
      const auto a = of(0), b = of(1);
      if (!a || !b || std::max({-a->low, a->high, -b->low, b->high}) > kMostSummand) return {};
      return op->kind == OpKind::add_ ? Range{a->low + b->low, a->high + b->high}
                                      : Range{a->low - b->high, a->high - b->low};
    }
    case OpKind::broadcast_in_dim_: case OpKind::reshape_: case OpKind::reverse_: case OpKind::slice_:
      return of(0);
    default:
      return {};
  }
}

}  // namespace

Value canonicalPower(Rewriter& rw, const Op& power) {
  const Shape to = rw.shape(power.result());
  if (to.dtype != DType::f32 && to.dtype != DType::f64) return {};
  // Each side as it is before it is spread out.
  auto source = [&](Value v) {
    const Op* spread = rw.def(v, OpKind::broadcast_in_dim_);
    return spread ? spread->operand(0) : v;
  };
  auto spreadLike = [&](Value side, Value v) {
    const Op* spread = rw.def(side, OpKind::broadcast_in_dim_);
    return spread ? rw.broadcast(v, to.dims, spread->ints(AttrKey::broadcast_dimensions)) : v;
  };
  const Value x = power.operand(0), y = power.operand(1);
  const auto range = wholeRange(rw, source(y));
  if (!range || range->low < 0 || range->high > kMostExponent) return {};
  const Value exponents = rw.convert(source(y), DType::s32);
  Value product, square = source(x);
  for (int64_t bit = 1; bit <= range->high; bit *= 2) {
    if (bit > 1) square = rw.binary(OpKind::multiply_, square, square);
    const Value bits =
        rw.binary(OpKind::and_, exponents, rw.like(exponents, static_cast<double>(bit)));
    const Value has_bit = rw.compare(bits, rw.like(bits, 0), "NE");
    const Value factor =
        rw.select(spreadLike(y, has_bit), spreadLike(x, square), rw.splat(to, 1));
    product = product.valid() ? rw.binary(OpKind::multiply_, product, factor) : factor;
  }
  return product.valid() ? product : rw.splat(to, 1);
}

}  // namespace tercel::passes
