#include <array>
#include <bit>
#include <cmath>
#include <utility>

#include "compiler/kernel/elem.h"
#include "compiler/kernel/elem_divide.h"
#include "compiler/kernel/elem_math.h"
#include "core/status.h"

namespace tercel::kernel {
namespace {

using ir::AttrKey;
using ir::OpKind;

V isNan(Builder& b, V x) { return b.compare(Opcode::fcmp, Predicate::uno, x, x); }
V intZero(Builder& b, V x) { return b.integer(b.type(x), 0); }

// Integers of the same width that order as the floats do, -NaN first, NaN last.
V totalOrderKey(Builder& b, V x) {
  Scalar i = b.type(x).scalar == Scalar::f64 ? Scalar::i64 : Scalar::i32;
  V bits = b.cast(Opcode::bitcast, x, i);
  int width = bitWidth(i);
  V sign = b.binary(Opcode::ashr, bits, b.integer(b.type(bits), width - 1));
  V low = b.constant(b.type(bits), ~uint64_t{0} >> (65 - width));
  return b.binary(Opcode::xor_, bits, b.binary(Opcode::and_, sign, low));
}

struct Predicates {
  std::string_view direction;
  Predicate floating, is_signed, is_unsigned;
};
constexpr Predicates kPredicates[] = {
    {"EQ", Predicate::oeq, Predicate::eq, Predicate::eq},
    {"NE", Predicate::une, Predicate::ne, Predicate::ne},
    {"LT", Predicate::olt, Predicate::slt, Predicate::ult},
    {"LE", Predicate::ole, Predicate::sle, Predicate::ule},
    {"GT", Predicate::ogt, Predicate::sgt, Predicate::ugt},
    {"GE", Predicate::oge, Predicate::sge, Predicate::uge},
};

V emitCompare(Builder& b, const ir::Op& op, DType in, V x, V y) {
  const std::string& direction = op.symbol(AttrKey::comparison_direction);
  for (const Predicates& row : kPredicates) {
    if (row.direction != direction) continue;
    if (isFloat(in)) {
      if (op.symbol(AttrKey::compare_type) == "TOTALORDER")
        return b.compare(Opcode::icmp, row.is_signed, totalOrderKey(b, x), totalOrderKey(b, y));
      return b.compare(Opcode::fcmp, row.floating, x, y);
    }
    return b.compare(Opcode::icmp, isSigned(in) ? row.is_signed : row.is_unsigned, x, y);
  }
  TERCEL_CHECK(false, "comparison_direction ", direction);
  return {};
}

// NaN where either is NaN; of zeros, +0 is the larger. With a constant the instruction does that,
// which gives its second operand where both are equal or one is NaN.
V emitFloatExtremum(Builder& b, bool maximum, V x, V y) {
  const Opcode op = maximum ? Opcode::fmax : Opcode::fmin;
  if (b.isConstant(x)) std::swap(x, y);
  const Scalar word = b.type(y).scalar == Scalar::f64 ? Scalar::i64 : Scalar::i32;
  const uint64_t sign = uint64_t{1} << (bitWidth(word) - 1);
  const uint64_t infinity = word == Scalar::i64 ? uint64_t{0x7ff} << 52 : uint64_t{0xff} << 23;
  if (uint64_t bits; b.isConstant(y, &bits) && (bits & (sign - 1)) <= infinity) {
    const bool wins_ties = bits == (maximum ? 0 : sign);
    return wins_ties ? b.select(isNan(b, x), x, b.binary(op, x, y)) : b.binary(op, y, x);
  }
  return b.binary(maximum ? Opcode::fmaximum : Opcode::fminimum, x, y);
}

V emitExtremum(Builder& b, bool maximum, DType in, V x, V y) {
  if (isPred(in)) return b.binary(maximum ? Opcode::or_ : Opcode::and_, x, y);
  if (!isFloat(in)) {
    Opcode op = isSigned(in) ? (maximum ? Opcode::smax : Opcode::smin)
                             : (maximum ? Opcode::umax : Opcode::umin);
    return b.binary(op, x, y);
  }
  return emitFloatExtremum(b, maximum, x, y);
}

V emitShift(Builder& b, OpKind kind, V x, V amount) {
  Type type = b.type(x);
  int width = bitWidth(type.scalar);
  V limit = b.integer(type, width);
  V in_range = b.compare(Opcode::icmp, Predicate::ult, amount, limit);
  V last = b.integer(type, width - 1);
  V safe = b.select(in_range, amount, last);
  if (kind == OpKind::shift_right_arithmetic_) return b.binary(Opcode::ashr, x, safe);
  Opcode op = kind == OpKind::shift_left_ ? Opcode::shl : Opcode::lshr;
  return b.select(in_range, b.binary(op, x, safe), intZero(b, x));
}

// Machines divide no vectors of integers. The quotient of floats, cut, is that of integers where
// their mantissa holds both: a quotient that is no integer then differs from one by more than half
// an ulp. y is not zero, and x / y fits.
V divideLanes(Builder& b, bool is_signed, V x, V y) {
  const Type type = b.type(x);
  const int width = bitWidth(type.scalar);
  const Scalar real = width <= 16 ? Scalar::f32 : Scalar::f64;
  const Scalar whole = width <= 16 ? Scalar::i32 : type.scalar;
  auto quotient = [&](V n, V d) {
    Opcode in = is_signed ? Opcode::sitofp : Opcode::uitofp;
    V cut = b.binary(Opcode::fdiv, b.cast(in, n, real), b.cast(in, d, real));
    cut = b.cast(is_signed ? Opcode::fptosi : Opcode::fptoui, cut, whole);
    return whole == type.scalar ? cut : b.cast(Opcode::itrunc, cut, type.scalar);
  };
  if (width < 64) return quotient(x, y);
  // 2^52 added, to a signed one, is below 2^53.
  auto isLarge = [&](V v) {
    V above = is_signed ? b.iadd(v, b.constant(type, uint64_t{1} << 52)) : v;
    return b.compare(Opcode::icmp, Predicate::uge, above, b.constant(type, uint64_t{1} << 53));
  };
  V large = b.any(b.binary(Opcode::or_, isLarge(x), isLarge(y)));
  const Opcode op = is_signed ? Opcode::sdiv : Opcode::udiv;
  const std::string name = cat(is_signed ? "divide_signed." : "divide_unsigned.", toString(type));
  const Type types[] = {type, type, type};
  uint64_t known;
  if (b.isConstant(y, &known)) {
    const FunctionId divide =
        b.function(cat(name, '.', known), std::span(types).first(2), [&](std::span<const V> v) {
          return b.binary(op, v[1], b.constant(type, known));
        });
    return b.rarely(large, divide, std::array{quotient(x, y), x});
  }
  const FunctionId divide = b.function(
      name, types, [&](std::span<const V> v) { return b.binary(op, v[1], v[2]); });
  return b.rarely(large, divide, std::array{quotient(x, y), x, y});
}

// What division may trap on: by zero, and by -1 of the lowest number.
V unsafeDivisor(Builder& b, bool divide, DType in, V x, V y) {
  V zero = b.compare(Opcode::icmp, Predicate::eq, y, intZero(b, y));
  if (!isSigned(in)) return zero;
  Type type = b.type(y);
  if (!divide)  // the remainder by -1 is that by 1
    return b.compare(Opcode::icmp, Predicate::ult, b.iadd(y, b.integer(type, 1)),
                     b.integer(type, 2));
  V lowest = b.constant(b.type(x), uint64_t{1} << (bitWidth(type.scalar) - 1));
  V overflow = b.binary(Opcode::and_, b.compare(Opcode::icmp, Predicate::eq, x, lowest),
                        b.compare(Opcode::icmp, Predicate::eq, y, b.integer(type, -1)));
  return b.binary(Opcode::or_, zero, overflow);
}

// Division by zero gives all ones, remainder by zero the dividend, MIN / -1 = MIN, MIN % -1 = 0.
V emitIntDivide(Builder& b, OpKind kind, DType in, V x, V y) {
  Type type = b.type(b.binary(Opcode::iadd, x, y));
  bool divide = kind == OpKind::divide_;
  uint64_t bits = 0, minus_one = ~uint64_t{0} >> (64 - bitWidth(type.scalar));
  bool harmless = b.isConstant(y, &bits) && bits != 0 && !(isSigned(in) && bits == minus_one);
  V safe = harmless ? y : b.select(unsafeDivisor(b, divide, in, x, y), b.integer(type, 1), y);
  V result;
  if (type.isVector()) {
    // By a constant it is a shift, or a product, whose upper half machines have of all but 64 bits.
    const V n = b.widen(x, type.lanes), d = b.widen(safe, type.lanes);
    const bool is_product = bitWidth(type.scalar) < 64 || std::has_single_bit(bits);
    result = harmless && is_product ? b.binary(isSigned(in) ? Opcode::sdiv : Opcode::udiv, n, d)
                                    : divideLanes(b, isSigned(in), n, d);
    if (!divide) result = b.isub(x, b.imul(result, safe));
  } else {
    Opcode op = isSigned(in) ? (divide ? Opcode::sdiv : Opcode::srem)
                             : (divide ? Opcode::udiv : Opcode::urem);
    result = b.binary(op, x, safe);
  }
  if (b.isNonZero(y)) return result;
  V zero = b.compare(Opcode::icmp, Predicate::eq, y, intZero(b, y));
  return b.select(zero, divide ? b.integer(type, -1) : x, result);
}

// Square and multiply; a negative exponent leaves only 1 and -1 with a non-zero power.
V emitIntPower(Builder& b, DType in, V base, V exponent) {
  int lanes = std::max(b.type(base).lanes, b.type(exponent).lanes);
  base = b.widen(base, lanes);
  exponent = b.widen(exponent, lanes);
  Type type = b.type(base);
  V one = b.integer(type, 1), zero = b.integer(type, 0);
  V negative = b.compare(Opcode::icmp, Predicate::slt, exponent, zero);
  V counted = isSigned(in) ? b.select(negative, zero, exponent) : exponent;
  auto goes_on = [&](std::span<const V> c) {
    return b.any(b.compare(Opcode::icmp, Predicate::ne, c[2], zero));
  };
  auto step = [&](std::span<const V> c) {
    V odd = b.compare(Opcode::icmp, Predicate::ne, b.binary(Opcode::and_, c[2], one), zero);
    return Builder::Values{b.select(odd, b.imul(c[0], c[1]), c[0]), b.imul(c[1], c[1]),
                           b.binary(Opcode::lshr, c[2], one)};
  };
  auto last = b.whileLoop(std::array{one, base, counted}, goes_on, step);
  if (!isSigned(in)) return last[0];
  V minus_one = b.integer(type, -1);
  V is_one = b.compare(Opcode::icmp, Predicate::eq, base, one);
  V is_minus = b.compare(Opcode::icmp, Predicate::eq, base, minus_one);
  V odd = b.compare(Opcode::icmp, Predicate::ne, b.binary(Opcode::and_, exponent, one), zero);
  V inverse = b.select(is_one, one, b.select(is_minus, b.select(odd, minus_one, one), zero));
  return b.select(negative, inverse, last[0]);
}

V emitSign(Builder& b, DType in, V x) {
  Type type = b.type(x);
  if (!isFloat(in)) {
    V positive = b.compare(Opcode::icmp, isSigned(in) ? Predicate::sgt : Predicate::ne, x,
                           intZero(b, x));
    V one = b.integer(type, 1);
    V rest = isSigned(in) ? b.binary(Opcode::ashr, x, b.integer(type, bitWidth(type.scalar) - 1))
                          : intZero(b, x);
    return b.select(positive, one, rest);
  }
  V zero = b.number(type, 0.0);
  V negative = b.select(b.compare(Opcode::fcmp, Predicate::olt, x, zero), b.number(type, -1.0), x);
  return b.select(b.compare(Opcode::fcmp, Predicate::ogt, x, zero), b.number(type, 1.0), negative);
}

V copySign(Builder& b, V magnitude, V sign) {
  Scalar i = b.type(sign).scalar == Scalar::f64 ? Scalar::i64 : Scalar::i32;
  V mask = b.constant(b.type(sign).with(i), uint64_t{1} << (bitWidth(i) - 1));
  V s = b.binary(Opcode::and_, b.cast(Opcode::bitcast, sign, i), mask);
  V m = b.cast(Opcode::bitcast, b.unary(Opcode::fabs, magnitude), i);
  return b.cast(Opcode::bitcast, b.binary(Opcode::or_, m, s), b.type(sign).scalar);
}

V emitRoundAwayFromZero(Builder& b, V x) {
  V whole = b.unary(Opcode::trunc_int, x);
  V rest = b.unary(Opcode::fabs, b.binary(Opcode::fsub, x, whole));
  V half = b.compare(Opcode::fcmp, Predicate::oge, rest, b.number(b.type(x), 0.5));
  V next = b.fadd(whole, copySign(b, b.number(b.type(x), 1.0), x));
  return copySign(b, b.select(half, next, whole), x);
}

struct FloatFormat {
  Scalar stored, bits;
  int exponent, mantissa;
};

// bf16 is held in f32, whose upper half it is.
FloatFormat formatOf(DType dtype) {
  if (dtype == DType::f16) return {Scalar::f16, Scalar::i16, 5, 10};
  if (dtype == DType::f64) return {Scalar::f64, Scalar::i64, 11, 52};
  return {Scalar::f32, Scalar::i32, 8, 23};
}

// To the nearest multiple of 2^drop, ties to the even one.
V roundBits(Builder& b, V bits, int64_t drop) {
  Type type = b.type(bits);
  V last = b.binary(Opcode::and_, b.binary(Opcode::lshr, bits, b.integer(type, drop)),
                    b.integer(type, 1));
  V bias = b.iadd(last, b.integer(type, (int64_t{1} << (drop - 1)) - 1));
  return b.binary(Opcode::and_, b.iadd(bits, bias), b.integer(type, -(int64_t{1} << drop)));
}

// Values too small for normal numbers of `want` exponent bits become zero of their sign, too large
// ones infinity.
V cutExponent(Builder& b, V bits, const FloatFormat& format, int64_t want) {
  Type type = b.type(bits);
  uint64_t sign_bit = uint64_t{1} << (format.mantissa + format.exponent);
  int64_t bias = (int64_t{1} << (format.exponent - 1)) - 1;
  int64_t want_bias = (int64_t{1} << (want - 1)) - 1;
  auto field = [&](int64_t exponent) {
    return b.constant(type, static_cast<uint64_t>(exponent) << format.mantissa);
  };
  V sign = b.binary(Opcode::and_, bits, b.constant(type, sign_bit));
  V magnitude = b.binary(Opcode::and_, bits, b.constant(type, sign_bit - 1));
  V infinity = b.binary(Opcode::or_, sign, field((int64_t{1} << format.exponent) - 1));
  V too_large = b.compare(Opcode::icmp, Predicate::uge, magnitude, field(bias + want_bias + 1));
  V too_small = b.compare(Opcode::icmp, Predicate::ult, magnitude, field(bias - want_bias + 1));
  return b.select(too_large, infinity, b.select(too_small, sign, bits));
}

// Rounds to a float format of fewer bits, kept in its own one.
V emitReducePrecision(Builder& b, const ir::Op& op, DType in, V x) {
  FloatFormat format = formatOf(in);
  Scalar held = b.type(x).scalar;
  int64_t mantissa = op.integer(AttrKey::mantissa_bits);
  int64_t exponent = op.integer(AttrKey::exponent_bits);
  V stored = format.stored == held ? x : b.cast(Opcode::fptrunc, x, format.stored);
  V bits = b.cast(Opcode::bitcast, stored, format.bits);
  if (mantissa < format.mantissa) bits = roundBits(b, bits, format.mantissa - mantissa);
  if (exponent < format.exponent) bits = cutExponent(b, bits, format, exponent);
  V result = b.cast(Opcode::bitcast, bits, format.stored);
  if (format.stored != held) result = b.cast(Opcode::fpext, result, held);
  return b.select(isNan(b, x), x, result);
}

V emitIsFinite(Builder& b, V x) {
  return b.compare(Opcode::fcmp, Predicate::olt, b.unary(Opcode::fabs, x),
                   b.number(b.type(x), __builtin_inf()));
}

V emitAbs(Builder& b, DType in, V x) {
  if (isFloat(in)) return b.unary(Opcode::fabs, x);
  if (!isSigned(in)) return x;
  return b.binary(Opcode::smax, x, b.isub(intZero(b, x), x));
}

struct BasicRow {
  OpKind kind;
  Opcode integer;
  Opcode floating;
};
constexpr BasicRow kBasic[] = {
    {OpKind::add_, Opcode::iadd, Opcode::fadd},
    {OpKind::subtract_, Opcode::isub, Opcode::fsub},
    {OpKind::multiply_, Opcode::imul, Opcode::fmul},
};

V emitBasic(Builder& b, OpKind kind, DType in, V x, V y) {
  for (const BasicRow& row : kBasic) {
    if (row.kind != kind) continue;
    if (isPred(in)) return b.binary(kind == OpKind::add_ ? Opcode::or_ : Opcode::and_, x, y);
    return b.binary(isFloat(in) ? row.floating : row.integer, x, y);
  }
  return {};
}

V emitBitwise(Builder& b, OpKind kind, V x, V y) {
  Opcode op = kind == OpKind::and_ ? Opcode::and_
              : kind == OpKind::or_ ? Opcode::or_
                                    : Opcode::xor_;
  return b.binary(op, x, y);
}

V emitReal(Builder& b, const ir::Op& op, DType in, std::span<const Elem> args) {
  V x = args[0].re;
  V y = args.size() > 1 ? args[1].re : V{};
  switch (op.kind) {
    case OpKind::abs_: return emitAbs(b, in, x);
    case OpKind::add_: case OpKind::subtract_: case OpKind::multiply_:
      return emitBasic(b, op.kind, in, x, y);
    case OpKind::and_: case OpKind::or_: case OpKind::xor_:
      return emitBitwise(b, op.kind, x, y);
    case OpKind::ceil_: return b.unary(Opcode::ceil, x);
    case OpKind::clamp_:
      return emitExtremum(b, false, in, emitExtremum(b, true, in, y, x), args[2].re);
    case OpKind::compare_: return emitCompare(b, op, in, x, y);
    case OpKind::count_leading_zeros_: return b.unary(Opcode::clz, x);
    case OpKind::divide_:
      return isFloat(in) ? divideFloats(b, x, y) : emitIntDivide(b, op.kind, in, x, y);
    case OpKind::floor_: return b.unary(Opcode::floor, x);
    case OpKind::imag_: return b.number(b.type(x), 0.0);
    case OpKind::is_finite_: return emitIsFinite(b, x);
    case OpKind::maximum_: return emitExtremum(b, true, in, x, y);
    case OpKind::minimum_: return emitExtremum(b, false, in, x, y);
    case OpKind::multiply_add_: return b.fmuladd(x, y, args[2].re);
    case OpKind::negate_:
      return isFloat(in) ? b.unary(Opcode::fneg, x) : b.isub(intZero(b, x), x);
    case OpKind::not_: return b.binary(Opcode::xor_, x, b.integer(b.type(x), -1));
    case OpKind::popcnt_: return b.unary(Opcode::popcnt, x);
    case OpKind::real_: return x;
    case OpKind::reduce_precision_: return emitReducePrecision(b, op, in, x);
    case OpKind::round_nearest_afz_: return emitRoundAwayFromZero(b, x);
    case OpKind::round_nearest_even_: return b.unary(Opcode::round_even, x);
    case OpKind::shift_left_: case OpKind::shift_right_arithmetic_:
    case OpKind::shift_right_logical_:
      return emitShift(b, op.kind, x, y);
    case OpKind::sign_: return emitSign(b, in, x);
    case OpKind::sqrt_: return b.unary(Opcode::fsqrt, x);
    case OpKind::power_:
      if (!isFloat(in)) return emitIntPower(b, in, x, y);
      return emitMath(b, op.kind, x, y);
    case OpKind::remainder_:
      if (!isFloat(in)) return emitIntDivide(b, op.kind, in, x, y);
      return emitMath(b, op.kind, x, y);
    default: return emitMath(b, op.kind, x, y);
  }
}

V bitcastSameWidth(Builder& b, V x, DType in, DType out) {
  if (isHalfFloat(in)) x = b.cast(Opcode::fptrunc, x, storedScalar(in));
  if (isPred(in)) x = b.cast(Opcode::zext, x, Scalar::i8);
  if (isPred(out)) return b.compare(Opcode::icmp, Predicate::ne, x, intZero(b, x));
  x = b.cast(Opcode::bitcast, x, storedScalar(out));
  if (isHalfFloat(out)) x = b.cast(Opcode::fpext, x, Scalar::f32);
  return x;
}

}  // namespace

Elem emitElementwise(Builder& b, const ir::Op& op, DType in, DType out,
                     std::span<const Elem> args) {
  switch (op.kind) {
    case OpKind::select_: return elemSelect(b, args[0].re, args[1], args[2]);
    case OpKind::convert_: return elemConvert(b, args[0], in, out);
    case OpKind::complex_: {
      int lanes = std::max(b.type(args[0].re).lanes, b.type(args[1].re).lanes);
      return {b.widen(args[0].re, lanes), b.widen(args[1].re, lanes)};
    }
    case OpKind::bitcast_convert_:
      return isComplex(in) ? args[0] : Elem{bitcastSameWidth(b, args[0].re, in, out), {}};
    default: break;
  }
  if (isComplex(in)) return emitComplex(b, op, in, out, args);
  V result = emitReal(b, op, in, args);
  return {isFloat(out) ? roundTo(b, result, out) : result, {}};
}

}  // namespace tercel::kernel
