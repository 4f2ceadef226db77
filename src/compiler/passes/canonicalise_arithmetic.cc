// Elementwise identities that hold for every value, NaN, infinities and -0 included.
#include <cmath>

#include "compiler/passes/constants.h"
#include "compiler/passes/ranges.h"
#include "compiler/passes/rules.h"

namespace tercel::passes {
using namespace ir;
namespace {

// On predicates arithmetic is logic.
std::optional<OpKind> asLogic(OpKind kind) {
  switch (kind) {
    case OpKind::add_:
    case OpKind::maximum_:
      return OpKind::or_;
    case OpKind::multiply_:
    case OpKind::minimum_:
      return OpKind::and_;
    default:
      return {};
  }
}

bool isIntegral(DType t) { return isInteger(t) || isPred(t); }

// (x op c) op d with integer splats is x op (c op d), and (c - x) + d is (c + d) - x.
Value mergedConstants(Rewriter& rw, const Op& op) {
  Value a = op.operand(0), d = op.operand(1);
  if (!isIntegral(rw.shape(a).dtype) || !splatOf(rw, d)) return {};
  const Op* from = op.kind == OpKind::add_ ? rw.def(a, OpKind::subtract_) : nullptr;
  if (from && splatOf(rw, from->operand(0)))
    return rw.binary(OpKind::subtract_, rw.binary(OpKind::add_, from->operand(0), d),
                     from->operand(1));
  const Op* inner = rw.def(a, op.kind);
  if (!inner || !splatOf(rw, inner->operand(1))) return {};
  Value c = inner->operand(1);
  return rw.binary(op.kind, inner->operand(0), rw.binary(op.kind, c, d));
}

Value addRule(Rewriter& rw, const Op& op) {
  Value a = op.operand(0), b = op.operand(1);
  if (isSplat(rw, b, -0.0) || isAllZeros(rw, b)) return a;
  if (isSplat(rw, b, 0.0) && isNonNegative(rw, a)) return a;
  if (const Op* n = rw.def(b, OpKind::negate_))
    return rw.binary(OpKind::subtract_, a, n->operand(0));
  if (const Op* n = rw.def(a, OpKind::negate_))
    return rw.binary(OpKind::subtract_, b, n->operand(0));
  return countedInOrder(rw, op);
}

Value subtractRule(Rewriter& rw, const Op& op) {
  Value a = op.operand(0), b = op.operand(1);
  bool integral = isInteger(rw.shape(a).dtype);
  if (integral && a == b) return rw.like(a, 0);
  if (isSplat(rw, a, -0.0) || (integral && isAllZeros(rw, a))) return rw.unary(OpKind::negate_, b);
  const Literal* c = splatOf(rw, b);
  if (c && (integral || splatNumber(rw, b)) && !splatOf(rw, a))
    return rw.binary(OpKind::add_, a, rw.constant(negated(withShape(*c, rw.shape(b).dims))));
  if (const Op* n = rw.def(b, OpKind::negate_)) return rw.binary(OpKind::add_, a, n->operand(0));
  return {};
}

Value multiplyRule(Rewriter& rw, const Op& op) {
  Value a = op.operand(0), b = op.operand(1);
  if (isSplat(rw, b, 1)) return a;
  DType t = rw.shape(a).dtype;
  if (isAllZeros(rw, b)) return b;
  if (isComplex(t)) return {};
  if (isSplat(rw, b, -1)) return rw.unary(OpKind::negate_, a);
  const Op* n = rw.def(a, OpKind::negate_);
  if (n && splatNumber(rw, b))
    return rw.binary(OpKind::multiply_, n->operand(0), rw.unary(OpKind::negate_, b));
  const Op* m = rw.def(b, OpKind::negate_);
  if (n && m) return rw.binary(OpKind::multiply_, n->operand(0), m->operand(0));
  return {};
}

// 1/c where dividing by c is multiplying by it, exactly: c and 1/c are normal powers of two.
std::optional<double> exactReciprocal(DType t, double c) {
  int exponent = 0;
  if (c == 0 || std::isinf(c) || std::abs(std::frexp(c, &exponent)) != 0.5) return {};
  int limit = t == DType::f16 ? 14 : t == DType::f64 ? 1022 : 126;
  if (std::abs(exponent - 1) > limit) return {};
  return 1 / c;
}

// Of a number, or of a choice of two, as gradients of maximum and minimum divide by.
Value exactReciprocal(Rewriter& rw, Value v) {
  const DType t = rw.shape(v).dtype;
  if (const Op* choice = rw.def(v, OpKind::select_)) {
    const Value pred = choice->operand(0), a = choice->operand(1), b = choice->operand(2);
    if (!splatOf(rw, a) || !splatOf(rw, b)) return {};
    const Value yes = exactReciprocal(rw, a), no = exactReciprocal(rw, b);
    return yes.valid() && no.valid() ? rw.select(pred, yes, no) : Value{};
  }
  const std::optional<double> number = splatNumber(rw, v);
  const std::optional<double> reciprocal = number ? exactReciprocal(t, *number) : number;
  return reciprocal ? rw.like(v, *reciprocal) : Value{};
}

Value divideRule(Rewriter& rw, const Op& op) {
  Value a = op.operand(0), b = op.operand(1);
  DType t = rw.shape(a).dtype;
  if (isComplex(t)) return {};
  if (isSplat(rw, b, 1)) return a;
  if (!isFloat(t)) return {};
  const Value reciprocal = exactReciprocal(rw, b);
  return reciprocal.valid() ? rw.binary(OpKind::multiply_, a, reciprocal) : Value{};
}

// pow(x, 1/2) is +0 at -0 and +inf at -inf, where sqrt is -0 and NaN; x + 0 mends the first.
Value rootPower(Rewriter& rw, Value x, OpKind root, double at_minus_infinity) {
  if (isNonNegative(rw, x)) return rw.unary(root, x);
  Value is_lowest = rw.compare(x, rw.like(x, -INFINITY), "EQ", "FLOAT");
  Value value = rw.unary(root, rw.binary(OpKind::add_, x, rw.like(x, 0.0)));
  return rw.select(is_lowest, rw.like(x, at_minus_infinity), value);
}

Value powerRule(Rewriter& rw, const Op& op) {
  Value x = op.operand(0);
  DType t = rw.shape(x).dtype;
  std::optional<double> exponent = splatNumber(rw, op.operand(1));
  if (!exponent && isFloat(t)) return canonicalPower(rw, op);
  if (!exponent || isComplex(t) || isPred(t)) return {};
  if (*exponent == 0) return rw.like(x, 1);
  if (*exponent == 1) return x;
  if (*exponent == 2) return rw.binary(OpKind::multiply_, x, x);
  const bool is_short = isHalfFloat(t);  // two roundings would show
  if (*exponent == 3 && !is_short)
    return rw.binary(OpKind::multiply_, rw.binary(OpKind::multiply_, x, x), x);
  if (!isFloat(t)) return {};
  if (*exponent == -1) return rw.binary(OpKind::divide_, rw.like(x, 1), x);
  if (*exponent == 0.5) return rootPower(rw, x, OpKind::sqrt_, INFINITY);
  if (*exponent == -0.5) return rootPower(rw, x, OpKind::rsqrt_, 0);
  if (is_short) return {};
  auto times_size = [&](OpKind kind, Value root) {
    return rw.binary(kind, root, rw.unary(OpKind::abs_, x));
  };
  if (*exponent == 1.5)
    return times_size(OpKind::multiply_, rootPower(rw, x, OpKind::sqrt_, INFINITY));
  if (*exponent == -1.5)
    return times_size(OpKind::divide_, rootPower(rw, x, OpKind::rsqrt_, 0));
  return {};
}

// maximum(x, lowest), minimum(x, highest) and of a value with itself.
Value extremumRule(Rewriter& rw, const Op& op) {
  Value a = op.operand(0), b = op.operand(1);
  if (a == b) return a;
  DType t = rw.shape(a).dtype;
  bool is_max = op.kind == OpKind::maximum_;
  if (isFloat(t)) return isSplat(rw, b, is_max ? -INFINITY : INFINITY) ? a : Value{};
  const Literal* c = splatOf(rw, b);
  if (!c || !isInteger(t)) return {};
  bool neutral = visitDType(t, [&]<class T>() {
    if constexpr (std::is_integral_v<T>) {
      using Limits = std::numeric_limits<T>;
      return c->at<T>(0) == (is_max ? Limits::lowest() : Limits::max());
    }
    return false;
  });
  return neutral ? a : Value{};
}

Value logicRule(Rewriter& rw, const Op& op) {
  Value a = op.operand(0), b = op.operand(1);
  bool zeros = isAllZeros(rw, b), ones = isAllOnes(rw, b);
  switch (op.kind) {
    case OpKind::and_:
      if (ones || a == b) return a;
      return zeros ? b : Value{};
    case OpKind::or_:
      if (zeros || a == b) return a;
      return ones ? b : Value{};
    default:
      if (zeros) return a;
      if (a == b) return rw.like(a, 0);
      return ones ? rw.unary(OpKind::not_, a) : Value{};
  }
}

std::string_view inverse(std::string_view direction) {
  if (direction == "EQ") return "NE";
  if (direction == "NE") return "EQ";
  if (direction == "LT") return "GE";
  if (direction == "GE") return "LT";
  return direction == "GT" ? "LE" : "GT";
}

Value notRule(Rewriter& rw, const Op& op) {
  const Op* inner = rw.def(op.operand(0));
  if (!inner) return {};
  if (inner->kind == OpKind::not_) return inner->operand(0);
  if (inner->kind != OpKind::compare_) return {};
  const std::string& direction = inner->symbol(AttrKey::comparison_direction);
  const std::string& type = inner->symbol(AttrKey::compare_type);
  // Of unordered numbers neither x < y nor x >= y.
  bool total = isIntegral(rw.shape(inner->operand(0)).dtype) || type == "TOTALORDER";
  if (!total && direction != "EQ" && direction != "NE") return {};
  return rw.compare(inner->operand(0), inner->operand(1), inverse(direction), type);
}

Value unaryRule(Rewriter& rw, const Op& op) {
  Value x = op.operand(0);
  const Op* inner = rw.def(x);
  OpKind within = inner ? inner->kind : OpKind::custom_call_;
  switch (op.kind) {
    case OpKind::abs_:
      if (within == OpKind::abs_ || isUnsigned(rw.shape(x).dtype)) return x;
      if (isNonNegative(rw, x)) return x;
      if (within != OpKind::negate_) return {};
      return rw.emit(OpKind::abs_, {inner->operand(0)}, rw.shape(op.result()));
    case OpKind::ceil_:
    case OpKind::floor_:
    case OpKind::round_nearest_afz_:
    case OpKind::round_nearest_even_:
      switch (within) {
        case OpKind::ceil_:
        case OpKind::floor_:
        case OpKind::round_nearest_afz_:
        case OpKind::round_nearest_even_:
          return x;
        default:
          return {};
      }
    case OpKind::imag_:
      if (within == OpKind::complex_) return inner->operand(1);
      return isComplex(rw.shape(x).dtype) ? Value{} : rw.like(x, 0);
    case OpKind::negate_:
      return within == OpKind::negate_ ? inner->operand(0) : Value{};
    case OpKind::not_:
      return notRule(rw, op);
    case OpKind::real_:
      if (within == OpKind::complex_) return inner->operand(0);
      return isComplex(rw.shape(x).dtype) ? Value{} : x;
    default:
      return {};
  }
}

Value complexRule(Rewriter& rw, const Op& op) {
  const Op* re = rw.def(op.operand(0), OpKind::real_);
  const Op* im = rw.def(op.operand(1), OpKind::imag_);
  bool same = re && im && re->operand(0) == im->operand(0);
  return same && rw.shape(re->operand(0)) == rw.shape(op.result()) ? re->operand(0) : Value{};
}

Value binaryRule(Rewriter& rw, const Op& op) {
  Value a = op.operand(0), b = op.operand(1);
  DType t = rw.shape(a).dtype;
  if (commutes(op.kind) && constantOf(rw, a) && !constantOf(rw, b)) return rw.binary(op.kind, b, a);
  if (isPred(t))
    if (std::optional<OpKind> logic = asLogic(op.kind)) return rw.binary(*logic, a, b);
  if (commutes(op.kind))
    if (Value merged = mergedConstants(rw, op); merged.valid()) return merged;
  switch (op.kind) {
    case OpKind::add_:
      return addRule(rw, op);
    case OpKind::and_:
    case OpKind::or_:
    case OpKind::xor_:
      return logicRule(rw, op);
    case OpKind::complex_:
      return complexRule(rw, op);
    case OpKind::divide_:
      return divideRule(rw, op);
    case OpKind::maximum_:
    case OpKind::minimum_:
      return extremumRule(rw, op);
    case OpKind::multiply_:
      return multiplyRule(rw, op);
    case OpKind::power_:
      return powerRule(rw, op);
    case OpKind::remainder_:
      return isInteger(t) && isSplat(rw, b, 1) ? rw.like(a, 0) : Value{};
    case OpKind::shift_left_:
    case OpKind::shift_right_arithmetic_:
    case OpKind::shift_right_logical_:
      return isAllZeros(rw, b) ? a : Value{};
    case OpKind::subtract_:
      return subtractRule(rw, op);
    default:
      return {};
  }
}

}  // namespace

Value canonicalArithmetic(Rewriter& rw, const Op& op) {
  if (opClass(op.kind) == OpClass::unary) return unaryRule(rw, op);
  if (opClass(op.kind) == OpClass::binary) return binaryRule(rw, op);
  return {};
}

}  // namespace tercel::passes
