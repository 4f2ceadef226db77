#include "compiler/plan/comparator_keys.h"

#include <cmath>
#include <optional>

namespace tercel::plan {
namespace {

using ir::AttrKey;
using ir::Op;
using ir::OpKind;
using ir::Value;

// The comparator's arguments are a0, b0, a1, b1, ...
struct Side {
  size_t arg;
  bool canonical;  // -0 as +0 and one NaN
};

// x < y of one operand, or the other way round.
struct Comparison {
  size_t operand;
  bool swapped;
  bool canonical;
};

class Comparator {
 public:
  Comparator(const ir::Module& m, const ir::Region& region) : m_(m), region_(region) {}

  // Keys in the order in which they decide.
  bool read(Value v, std::vector<SortKey>& keys) const {
    const Op* op = m_.def(v);
    if (!op) return false;
    if (op->kind == OpKind::compare_) return less(*op, keys);
    if (op->kind != OpKind::or_) return false;
    for (size_t i : {0u, 1u})
      if (first(op->operand(i), op->operand(1 - i), keys)) return true;
    return false;
  }

 private:
  // less or (equal and rest).
  bool first(Value less_value, Value otherwise, std::vector<SortKey>& keys) const {
    const Op *test = m_.def(less_value), *both = m_.def(otherwise);
    if (!test || test->kind != OpKind::compare_ || !both || both->kind != OpKind::and_)
      return false;
    for (size_t i : {0u, 1u}) {
      std::vector<SortKey> found = keys;
      if (less(*test, found) && equal(both->operand(i), *test) &&
          read(both->operand(1 - i), found)) {
        keys = std::move(found);
        return true;
      }
    }
    return false;
  }

  bool less(const Op& op, std::vector<SortKey>& keys) const {
    const std::string& direction = op.symbol(AttrKey::comparison_direction);
    if (direction != "LT" && direction != "GT") return false;
    std::optional<Comparison> found = comparison(op);
    if (!found || found->operand != keys.size()) return false;
    SortKey key{.dtype = m_.shape(op.operand(0)).dtype};
    key.descending = (direction == "GT") != found->swapped;
    key.total = isFloat(key.dtype) && !found->canonical;
    keys.push_back(key);
    return true;
  }

  // Of the operand that `less` compares.
  bool equal(Value v, const Op& less) const {
    const Op* op = m_.def(v);
    if (!op || op->kind != OpKind::compare_ ||
        op->symbol(AttrKey::comparison_direction) != "EQ")
      return false;
    std::optional<Comparison> a = comparison(*op), b = comparison(less);
    return a && b && a->operand == b->operand && a->canonical == b->canonical;
  }

  // NaN stands where the total order has it, also where floats are compared as numbers: that says
  // nothing of it, and takes the zeros for one.
  std::optional<Comparison> comparison(const Op& op) const {
    DType dtype = m_.shape(op.operand(0)).dtype;
    if (isComplex(dtype)) return std::nullopt;
    const bool as_numbers = isFloat(dtype) && op.symbol(AttrKey::compare_type) != "TOTALORDER";
    std::optional<Side> x = side(op.operand(0)), y = side(op.operand(1));
    if (!x || !y || x->arg / 2 != y->arg / 2 || x->arg == y->arg || x->canonical != y->canonical)
      return std::nullopt;
    return Comparison{x->arg / 2, x->arg > y->arg, x->canonical || as_numbers};
  }

  std::optional<Side> side(Value v) const {
    for (size_t i = 0; i < region_.args.size(); ++i)
      if (region_.args[i] == v) return Side{i, false};
    std::optional<Side> inner = unlessNan(v);
    if (inner) inner->canonical = true;
    return inner;
  }

  // x != x ? NaN : (x == 0 ? 0 : x)
  std::optional<Side> unlessNan(Value v) const {
    const Op* nan = chosenWhere(v, "NE");
    if (!nan || !isConstant(nan->operand(1), [](double c) { return std::isnan(c); }))
      return std::nullopt;
    const Op* zero = chosenWhere(nan->operand(2), "EQ");
    auto isZero = [](double c) { return c == 0; };
    if (!zero || !isConstant(zero->operand(1), isZero)) return std::nullopt;
    const Op &is_nan = *m_.def(nan->operand(0)), &is_zero = *m_.def(zero->operand(0));
    Value x = zero->operand(2);
    if (!(is_nan.operand(0) == x) || !(is_nan.operand(1) == x) || !(is_zero.operand(0) == x) ||
        !isConstant(is_zero.operand(1), isZero))
      return std::nullopt;
    std::optional<Side> inner = side(x);
    return inner && !inner->canonical ? inner : std::nullopt;
  }

  // The select whose condition is a comparison in this direction.
  const Op* chosenWhere(Value v, std::string_view direction) const {
    const Op* select = m_.def(v);
    if (!select || select->kind != OpKind::select_) return nullptr;
    const Op* test = m_.def(select->operand(0));
    bool fits = test && test->kind == OpKind::compare_ &&
                test->symbol(AttrKey::comparison_direction) == direction &&
                test->symbol(AttrKey::compare_type) != "TOTALORDER";
    return fits ? select : nullptr;
  }

  template <class Test>
  bool isConstant(Value v, Test test) const {
    const Op* op = m_.def(v);
    return op && op->kind == OpKind::constant_ && m_.shape(v).elements() == 1 &&
           test(op->literal().number(0)) && !std::signbit(op->literal().number(0));
  }

  const ir::Module& m_;
  const ir::Region& region_;
};

}  // namespace

std::vector<SortKey> comparatorKeys(const ir::Module& m, const Op& sort) {
  const ir::Region& region = m.region(sort.regions[0]);
  std::vector<SortKey> keys;
  if (!Comparator(m, region).read(region.results[0], keys)) keys.clear();
  return keys;
}

}  // namespace tercel::plan
