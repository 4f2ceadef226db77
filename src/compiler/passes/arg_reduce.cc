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

bool isNaNOf(const Rewriter& rw, Value v, Value x) {
  const Op* differs = comparison(rw, v, "NE");
  return differs && differs->operand(0) == x && differs->operand(1) == x;
}

// What a body asks of two elements, a before b: whether a is `better`, or NaN, or as good as b and
// `earlier`.
struct Choice {
  Value takes_a;  // of the elements themselves
  const Op* better = nullptr;
  Value is_nan;   // a; invalid: there are none
  Value earlier;
};

std::optional<Choice> choiceOf(const Rewriter& rw, Value condition, Value i, Value j) {
  const Op *equal = nullptr, *earlier = nullptr;
  auto isTie = [&](Value e, Value l) {
    equal = comparison(rw, e, "EQ"), earlier = comparison(rw, l, "LT");
    return equal && earlier && earlier->operand(0) == i && earlier->operand(1) == j;
  };
  auto isPick = [&](Value, Value q) { return operandsOf(rw, q, OpKind::and_, isTie).has_value(); };
  const auto pick = operandsOf(rw, condition, OpKind::or_, isPick);
  if (!pick) return {};
  Choice choice{pick->first, nullptr, {}, earlier->result()};
  auto isBetter = [&](Value v) {
    for (std::string_view direction : {"GT", "LT"}) {
      choice.better = comparison(rw, v, direction);
      if (choice.better) return choice.better->operands == equal->operands;
    }
    return false;
  };
  if (isBetter(pick->first)) return choice;
  const auto or_nan = operandsOf(rw, pick->first, OpKind::or_, [&](Value v, Value nan) {
    return isBetter(v) && isNaNOf(rw, nan, equal->operand(0));
  });
  if (!or_nan) return {};
  choice.is_nan = or_nan->second;
  return choice;
}

// Elements that nobody gets may be chosen as their places are: of equal ones, either.
void chooseElementsAlike(Rewriter& rw, const Op& reduce, const Choice& choice, Value first_wins) {
  const Region& body = rw.module().region(reduce.regions[0]);
  const size_t n = reduce.results.size();
  for (size_t k = 0; k < n; ++k) {
    const Op* select = rw.def(rw.now(body.results[k]), OpKind::select_);
    if (!select || !(select->operand(0) == choice.takes_a) || rw.otherUses(reduce.results[k]) > 0)
      continue;
    if (select->operand(1) == body.args[k] && select->operand(2) == body.args[n + k])
      rw.replace(select->result(), rw.select(first_wins, body.args[k], body.args[n + k]));
  }
}

}  // namespace

Value firstOfBest(Rewriter& rw, const Op& reduce, const Op& op) {
  const Value i = op.operand(1), j = op.operand(2);
  const std::optional<Choice> choice = choiceOf(rw, op.operand(0), i, j);
  if (!choice) return {};
  const Value a = choice->better->operand(0), b = choice->better->operand(1);
  const std::string type(choice->better->symbol(AttrKey::compare_type));
  const bool greatest = choice->better->symbol(AttrKey::comparison_direction) == "GT";
  Value first_wins = rw.compare(a, b, greatest ? "GE" : "LE", type);
  Value last_loses = choice->better->result();
  if (choice->is_nan.valid()) {
    const Value is_number = rw.compare(b, b, "EQ", type);
    first_wins = rw.binary(OpKind::or_, first_wins, choice->is_nan);
    last_loses =
        rw.binary(OpKind::or_, last_loses, rw.binary(OpKind::and_, choice->is_nan, is_number));
  }
  chooseElementsAlike(rw, reduce, *choice, first_wins);
  return rw.select(rw.select(choice->earlier, first_wins, last_loses), i, j);
}

}  // namespace tercel::passes
