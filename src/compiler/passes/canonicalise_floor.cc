// Quotients and remainders of integers by positive constants that round down, as jnp's // and % do:
// JAX makes them of those that round towards zero. By powers of two they are a shift and a mask.
#include <bit>
#include <cmath>

#include "compiler/passes/constants.h"
#include "compiler/passes/rules.h"

namespace tercel::passes {
using namespace ir;
namespace {

// divide(x, by) or remainder(x, by), where `by` is positive everywhere.
struct FloorDivision {
  Value x;
  int64_t by = 0;
  explicit operator bool() const { return by > 0; }
  friend bool operator==(const FloorDivision& a, const FloorDivision& b) {
    return a.x == b.x && a.by == b.by;
  }
};
FloorDivision divisionAt(const Rewriter& rw, Value v, OpKind kind) {
  constexpr double kMost = int64_t{1} << 52;  // exact, as one less is
  const Op* op = rw.def(v, kind);
  const auto by = op ? splatNumber(rw, op->operand(1)) : std::nullopt;
  if (!by || *by < 1 || *by > kMost || !isSigned(rw.shape(v).dtype)) return {};
  return {op->operand(0), static_cast<int64_t>(*by)};
}

// The operand of compare(v, number) in this direction.
Value comparedAt(const Rewriter& rw, Value pred, std::string_view direction, double number) {
  const Op* op = rw.def(pred, OpKind::compare_);
  if (!op || op->symbol(AttrKey::comparison_direction) != direction) return {};
  return splatNumber(rw, op->operand(1)) == number ? op->operand(0) : Value{};
}

// Whether it is x + number.
bool isSum(const Rewriter& rw, Value v, Value x, double number) {
  const Op* op = rw.def(v, OpKind::add_);
  return op && op->operand(0) == x && splatNumber(rw, op->operand(1)) == number;
}

// select(r < 0 and r != 0, r + by, r); a negative remainder is not 0.
Value floorRemainder(Rewriter& rw, Value pred, Value sum, Value r) {
  const FloorDivision division = divisionAt(rw, r, OpKind::remainder_);
  if (!division || !isSum(rw, sum, r, static_cast<double>(division.by))) return {};
  const Op* both = rw.def(pred, OpKind::and_);
  Value negative = pred;
  for (size_t i = 0; both && i < 2; ++i)
    if (comparedAt(rw, both->operand(1 - i), "NE", 0) == r) negative = both->operand(i);
  if (comparedAt(rw, negative, "LT", 0) != r) return {};
  if (std::has_single_bit(static_cast<uint64_t>(division.by)))
    return rw.binary(OpKind::and_, division.x,
                     rw.like(division.x, static_cast<double>(division.by - 1)));
  return both ? rw.select(negative, sum, r) : Value{};
}

// select(sign(x) != 1 and r != 0, q - 1, q), where the remainder r is not 0.
Value floorQuotient(Rewriter& rw, Value pred, Value less, Value q) {
  const FloorDivision division = divisionAt(rw, q, OpKind::divide_);
  const Op* both = rw.def(pred, OpKind::and_);
  if (!division || !both || !isSum(rw, less, q, -1)) return {};
  for (size_t i = 0; i < 2; ++i) {
    const Value sign = comparedAt(rw, both->operand(i), "NE", 1);
    const Value r = comparedAt(rw, both->operand(1 - i), "NE", 0);
    const Op* of = sign.valid() ? rw.def(sign, OpKind::sign_) : nullptr;
    if (!of || !r.valid() || !(of->operand(0) == division.x)) continue;
    if (!(divisionAt(rw, r, OpKind::remainder_) == division)) continue;
    if (std::has_single_bit(static_cast<uint64_t>(division.by)))
      return rw.binary(OpKind::shift_right_arithmetic_, division.x,
                       rw.like(division.x, std::log2(static_cast<double>(division.by))));
    return rw.select(rw.compare(r, rw.like(r, 0), "LT"), less, q);
  }
  return {};
}

}  // namespace

Value canonicalFloor(Rewriter& rw, const Op& op) {
  if (op.kind != OpKind::select_ || rw.shape(op.operand(0)).rank() != rw.shape(op.result()).rank())
    return {};
  const Value pred = op.operand(0), a = op.operand(1), b = op.operand(2);
  Value by = floorRemainder(rw, pred, a, b);
  return by.valid() ? by : floorQuotient(rw, pred, a, b);
}

}  // namespace tercel::passes
