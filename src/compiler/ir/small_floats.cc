#include "compiler/ir/small_floats.h"

#include <bit>
#include <cmath>

#include "core/status.h"

namespace tercel::ir {
namespace {

// What the largest codes mean.
enum class Ends : uint8_t {
  ieee,    // the largest exponent is that of infinity and NaN
  nan,     // all ones is NaN; no infinity
  fnuz,    // what would be -0 is NaN; no infinity
  finite,  // neither: NaN becomes -0
};

struct Format {
  DType dtype;
  int exponent, mantissa, bias;
  Ends ends;
};

constexpr Format kFormats[] = {
    {DType::f4e2m1fn, 2, 1, 1, Ends::finite},      {DType::f6e2m3fn, 2, 3, 1, Ends::finite},
    {DType::f6e3m2fn, 3, 2, 3, Ends::finite},      {DType::f8e3m4, 3, 4, 3, Ends::ieee},
    {DType::f8e4m3, 4, 3, 7, Ends::ieee},          {DType::f8e4m3b11fnuz, 4, 3, 11, Ends::fnuz},
    {DType::f8e4m3fn, 4, 3, 7, Ends::nan},         {DType::f8e4m3fnuz, 4, 3, 8, Ends::fnuz},
    {DType::f8e5m2, 5, 2, 15, Ends::ieee},         {DType::f8e5m2fnuz, 5, 2, 16, Ends::fnuz},
};

const Format& formatOf(DType dtype) {
  for (const Format& format : kFormats)
    if (format.dtype == dtype) return format;
  TERCEL_CHECK(false, "no small float: ", dtypeName(dtype));
  return kFormats[0];
}

// Bits of one width: of an array's elements, or of small floats being made from or to them.
class Bits {
 public:
  Bits(Builder& b, DType number)
      : b_(b), number_(number), wide_(number == DType::f64) {}

  DType word() const { return wide_ ? DType::u64 : DType::u32; }
  int width() const { return wide_ ? 64 : 32; }
  int mantissa() const { return wide_ ? 52 : 23; }
  int bias() const { return wide_ ? 1023 : 127; }
  uint64_t infinity() const { return uint64_t(2 * bias() + 1) << mantissa(); }
  uint64_t quietNan() const { return infinity() | uint64_t{1} << (mantissa() - 1); }
  uint64_t of(double number) const {
    return wide_ ? std::bit_cast<uint64_t>(number)
                 : std::bit_cast<uint32_t>(static_cast<float>(number));
  }

  Value constant(Value like, uint64_t bits) {
    const Shape shape{word(), b_.shape(like).dims};
    const auto low = static_cast<uint32_t>(bits);
    return b_.constant(wide_ ? Literal::splat(shape, &bits) : Literal::splat(shape, &low));
  }
  Value number(Value bits) { return b_.bitcast(bits, {number_, b_.shape(bits).dims}); }
  Value bits(Value number) { return b_.bitcast(number, {word(), b_.shape(number).dims}); }
  Value with(OpKind kind, Value v, uint64_t operand) {
    return b_.binary(kind, v, constant(v, operand));
  }
  Value shiftLeft(Value v, int by) { return with(OpKind::shift_left_, v, uint64_t(by)); }
  Value shiftRight(Value v, int by) { return with(OpKind::shift_right_logical_, v, uint64_t(by)); }
  Value is(Value v, std::string_view direction, uint64_t than) {
    return b_.compare(v, constant(v, than), direction);
  }
  Value choose(Value pred, uint64_t then, Value otherwise) {
    return b_.select(pred, constant(otherwise, then), otherwise);
  }

 private:
  Builder& b_;
  DType number_;
  bool wide_;
};

// Powers of two from 2^-127 on, without sign; 255 is NaN.
Value decodeExponent(Builder& b, Value byte) {
  Bits f32(b, DType::f32);
  Value word = b.convert(byte, DType::u32);
  Value bits = f32.choose(f32.is(word, "EQ", 0), 1u << 22, f32.shiftLeft(word, 23));
  return f32.number(f32.choose(f32.is(word, "EQ", 255), f32.quietNan(), bits));
}

Value encodeExponent(Builder& b, Value number) {
  number = b.convert(number, DType::f32);
  Bits f32(b, DType::f32);
  Value bits = f32.bits(number);
  // The exponent, one more from half-way to the next power on. Below the normal numbers there are
  // two powers, and all that is above the lower one becomes the other.
  Value normal = b.convert(f32.is(bits, "GE", 1u << 23), DType::u32);
  Value code = b.binary(OpKind::add_, f32.with(OpKind::add_, bits, (1u << 22) - 1), normal);
  code = f32.shiftRight(code, 23);
  // Zero, negative numbers, infinity and NaN.
  Value zero = f32.is(bits, "EQ", 0), outside = f32.is(bits, "GE", f32.infinity());
  return b.convert(f32.choose(b.binary(OpKind::or_, zero, outside), 255, code), DType::u8);
}

// An f8E5M2 is the upper half of an f16, and so is its rounding.
Value decodeHalf(Builder& b, Value byte) {
  Value half = b.convert(byte, DType::u16);
  half = b.binary(OpKind::shift_left_, half, b.splat(b.shape(half), 8));
  return b.bitcast(half, {DType::f16, b.shape(byte).dims});
}

Value encodeHalf(Builder& b, Value number) {
  const Shape shape{DType::u16, b.shape(number).dims};
  auto with = [&](OpKind kind, Value v, int operand) {
    return b.binary(kind, v, b.splat(shape, operand));
  };
  Value bits = b.bitcast(number, shape);
  Value odd = with(OpKind::and_, with(OpKind::shift_right_logical_, bits, 8), 1);
  Value code = b.binary(OpKind::add_, with(OpKind::add_, bits, 0x7f), odd);
  Value quiet = with(OpKind::or_, bits, 0x200);
  Value is_nan = b.compare(with(OpKind::and_, bits, 0x7fff), b.splat(shape, 0x7c00), "GT");
  code = with(OpKind::shift_right_logical_, b.select(is_nan, quiet, code), 8);
  return b.convert(code, DType::u8);
}

// The code of a magnitude, infinity and NaN too: `most` where it would be that or more.
Value roundedCode(Builder& b, Bits& wide, Value magnitude, const Format& format, uint64_t most) {
  const int shift = wide.mantissa() - format.mantissa;
  const uint64_t rebias = uint64_t(wide.bias() - format.bias) << wide.mantissa();
  magnitude = wide.with(OpKind::minimum_, magnitude, (most << shift) + rebias);
  // Normal: rebias the exponent and round the bits that go.
  Value odd = wide.with(OpKind::and_, wide.shiftRight(magnitude, shift), 1);
  Value code = wide.with(OpKind::add_, magnitude, (uint64_t{1} << (shift - 1)) - 1 - rebias);
  code = wide.shiftRight(b.binary(OpKind::add_, code, odd), shift);
  // Subnormal: adding a number whose last bit is the smallest unit rounds to that.
  const double unit = std::ldexp(1.0, 1 - format.bias - format.mantissa + wide.mantissa());
  Value number = wide.number(magnitude);
  Value aligned = b.binary(OpKind::add_, number, b.splat(b.shape(number), unit));
  Value tiny = wide.with(OpKind::subtract_, wide.bits(aligned), wide.of(unit));
  const uint64_t normal = wide.of(std::ldexp(1.0, 1 - format.bias));
  return b.select(wide.is(magnitude, "LT", normal), tiny, code);
}

}  // namespace

DType arithmeticType(DType small_float) {
  return small_float == DType::f8e5m2 ? DType::f16 : DType::f32;
}

Value decodeSmallFloat(Builder& b, Value byte, DType from, DType to) {
  if (from == DType::f8e8m0fnu) return decodeExponent(b, byte);
  if (from == DType::f8e5m2) return b.convert(decodeHalf(b, byte), to);
  const Format& format = formatOf(from);
  const int sign_at = format.exponent + format.mantissa, shift = 23 - format.mantissa;
  Bits f32(b, DType::f32);
  Value word = b.convert(byte, DType::u32);
  Value magnitude = f32.with(OpKind::and_, word, (1u << sign_at) - 1);
  Value sign = f32.shiftLeft(f32.shiftRight(word, sign_at), 31);
  // The exponent's bias, and for subnormals, whose bits count the units of a number that is normal
  // here, that number less what its leading bit adds. (Scaling would do for both, but machines are
  // slow where numbers of f32 are subnormal.)
  Value placed = f32.shiftLeft(magnitude, shift);
  Value normal = f32.with(OpKind::add_, placed, uint64_t(127 - format.bias) << 23);
  const double lead = std::ldexp(1.0, 1 - format.bias);
  Value above = f32.number(f32.with(OpKind::add_, placed, f32.of(lead)));
  Value tiny = f32.bits(b.binary(OpKind::subtract_, above, b.splat(b.shape(above), lead)));
  Value bits = b.select(f32.is(placed, "LT", 1u << 23), tiny, normal);
  if (format.ends == Ends::ieee) {
    const uint64_t infinity = ((1u << format.exponent) - 1) << format.mantissa;
    Value special = f32.with(OpKind::or_, placed, f32.infinity());
    bits = b.select(f32.is(magnitude, "GE", infinity), special, bits);
  }
  if (format.ends == Ends::nan)
    bits = f32.choose(f32.is(magnitude, "EQ", (1u << sign_at) - 1), f32.quietNan(), bits);
  bits = b.binary(OpKind::or_, bits, sign);
  if (format.ends == Ends::fnuz)
    bits = f32.choose(f32.is(word, "EQ", 1u << sign_at), f32.quietNan(), bits);
  return f32.number(bits);
}

Value encodeSmallFloat(Builder& b, Value number, DType to) {
  if (to == DType::f8e8m0fnu) return encodeExponent(b, number);
  if (b.shape(number).dtype == DType::f16) return encodeHalf(b, number);
  const Format& format = formatOf(to);
  Bits wide(b, b.shape(number).dtype);
  const int sign_at = format.exponent + format.mantissa;
  const uint64_t all = (uint64_t{1} << sign_at) - 1;
  const uint64_t infinity = ((uint64_t{1} << format.exponent) - 1) << format.mantissa;
  const bool is_ieee = format.ends == Ends::ieee;
  Value bits = wide.bits(number);
  Value magnitude = wide.with(OpKind::and_, bits, ~uint64_t{0} >> (65 - wide.width()));
  Value negative = wide.shiftRight(bits, wide.width() - 1);
  Value is_nan = wide.is(magnitude, "GT", wide.infinity());
  // What is too large, infinity and NaN among it; of fnuz the code that its sign's bit is then.
  const bool is_fnuz = format.ends == Ends::fnuz;
  Value code =
      roundedCode(b, wide, magnitude, format, is_ieee ? infinity : is_fnuz ? all + 1 : all);
  if (is_ieee)
    code = wide.choose(is_nan, infinity | uint64_t{1} << (format.mantissa - 1), code);
  if (format.ends == Ends::finite) {
    code = wide.choose(is_nan, 0, code);
    negative = wide.choose(is_nan, 1, negative);
  }
  Value result = b.binary(OpKind::or_, code, wide.shiftLeft(negative, sign_at));
  if (is_fnuz) result = wide.choose(wide.is(code, "EQ", 0), 0, result);
  return b.convert(result, DType::u8);
}

Value isSmallNonZero(Builder& b, Value byte, DType from) {
  const Shape pred{DType::pred, b.shape(byte).dims};
  if (from == DType::f8e8m0fnu) return b.splat(pred, 1);
  const Format& format = formatOf(from);
  const int bits = format.exponent + format.mantissa;
  if (format.ends != Ends::fnuz)
    byte = b.binary(OpKind::and_, byte, b.splat(b.shape(byte), (1 << bits) - 1));
  return b.compare(byte, b.splat(b.shape(byte), 0), "NE");
}

Value smallOneOrZero(Builder& b, Value pred, DType to) {
  const Shape bytes{DType::u8, b.shape(pred).dims};
  if (to == DType::f8e8m0fnu) return b.select(pred, b.splat(bytes, 127), b.splat(bytes, 255));
  const Format& format = formatOf(to);
  Value one = b.splat(bytes, format.bias << format.mantissa);
  return b.select(pred, one, b.splat(bytes, 0));
}

Value negatedSmall(Builder& b, Value byte, DType dtype) {
  if (dtype == DType::f8e8m0fnu) return b.splat(b.shape(byte), 255);
  const Format& format = formatOf(dtype);
  const int sign = 1 << (format.exponent + format.mantissa);
  Value flipped = b.binary(OpKind::xor_, byte, b.splat(b.shape(byte), sign));
  if (format.ends != Ends::fnuz) return flipped;
  // Neither zero nor NaN has another sign.
  Value rest = b.binary(OpKind::and_, byte, b.splat(b.shape(byte), sign - 1));
  return b.select(b.compare(rest, b.splat(b.shape(rest), 0), "EQ"), byte, flipped);
}

Value absoluteSmall(Builder& b, Value byte, DType dtype) {
  if (dtype == DType::f8e8m0fnu) return byte;
  const Format& format = formatOf(dtype);
  const int sign = 1 << (format.exponent + format.mantissa);
  Value rest = b.binary(OpKind::and_, byte, b.splat(b.shape(byte), sign - 1));
  if (format.ends != Ends::fnuz) return rest;
  return b.select(b.compare(byte, b.splat(b.shape(byte), sign), "EQ"), byte, rest);
}

}  // namespace tercel::ir
