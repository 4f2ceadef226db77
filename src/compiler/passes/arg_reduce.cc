// The place of a maximum or minimum, as JAX asks for it: a body that prefers NaN, and of equal
// elements the first.
#include "compiler/passes/rules.h"

namespace tercel::passes {
using namespace ir;
namespace {

const Op* comparison(const Rewriter& rw, Value v, std::string_view direction) {
  const Op* op = rw.def(v, OpKind::compare_);
  return op && op->symbol(AttrKey::comparison_direction) == direction ? op : nullptr;
}

// The operands of a commutative op, in the order in which `matches` takes them.
template <class Matches>
std::optional<std::pair<Value, Value>> operandsOf(const Rewriter& rw, Value v, OpKind kind,
                                                  Matches&& matches) {
  const Op* op = rw.def(v, kind);
  if (!op) return {};
  Value a = op->operand(0), b = op->operand(1);
  if (matches(a, b)) return std::pair(a, b);
  if (matches(b, a)) return std::pair(b, a);
  return {};
}

}  // namespace

Value firstOfNaNs(Rewriter& rw, const Op& op) {
  Value i = op.operand(1), j = op.operand(2);
  const Op *equal = nullptr, *earlier = nullptr;
  auto isTie = [&](Value e, Value l) {
    equal = comparison(rw, e, "EQ"), earlier = comparison(rw, l, "LT");
    return equal && earlier && earlier->operand(0) == i && earlier->operand(1) == j;
  };
  auto isPick = [&](Value, Value q) { return operandsOf(rw, q, OpKind::and_, isTie).has_value(); };
  auto pick = operandsOf(rw, op.operand(0), OpKind::or_, isPick);
  if (!pick) return {};
  Value a = equal->operand(0), b = equal->operand(1);
  auto isNaN = [&](Value v, Value x) {
    const Op* differs = comparison(rw, v, "NE");
    return differs && differs->operand(0) == x && differs->operand(1) == x;
  };
  auto better = operandsOf(rw, pick->first, OpKind::or_,
                           [&](Value, Value nan) { return isNaN(nan, a); });
  if (!better) return {};
  Value both = rw.binary(OpKind::and_, better->second, rw.compare(b, b, "NE", "FLOAT"));
  Value take = rw.select(both, earlier->result(), op.operand(0));
  return rw.select(take, i, j);
}

}  // namespace tercel::passes
