#include "compiler/kernel/elem.h"

#include <array>
#include <bit>
#include <cmath>
#include <cstring>

#include "core/status.h"

namespace tercel::kernel {
namespace {

uint64_t elementBits(const ir::Literal& literal, int64_t index, size_t size, size_t part) {
  uint64_t bits = 0;
  size_t element = byteSize(literal.shape().dtype);
  size_t at = (literal.isSplat() ? 0 : static_cast<size_t>(index)) * element + part * size;
  std::memcpy(&bits, literal.bytes().data() + at, size);
  return bits;
}

// f64 as f32, rounded to odd: f16 or bf16 from there is rounded once (see core/dtype.cc).
V roundedToOdd(Builder& b, V x) {
  V nearest = b.cast(Opcode::fptrunc, x, Scalar::f32);
  V back = b.cast(Opcode::fpext, nearest, Scalar::f64);
  V bits = b.cast(Opcode::bitcast, nearest, Scalar::i32);
  V away = b.compare(Opcode::fcmp, Predicate::ogt, b.unary(Opcode::fabs, back),
                     b.unary(Opcode::fabs, x));
  V lower = b.isub(bits, b.integer(b.type(bits), 1));
  V odd = b.binary(Opcode::or_, b.select(away, lower, bits), b.integer(b.type(bits), 1));
  V inexact = b.compare(Opcode::fcmp, Predicate::one, back, x);
  V infinite = b.compare(Opcode::fcmp, Predicate::oeq, b.unary(Opcode::fabs, nearest),
                         b.number(b.type(nearest), __builtin_inf()));
  V keep = b.binary(Opcode::or_, infinite,
                    b.binary(Opcode::xor_, inexact, b.constant(b.type(inexact), 1)));
  return b.cast(Opcode::bitcast, b.select(keep, bits, odd), Scalar::f32);
}

// The same by cutting bits; where f32 has no normal numbers, which matters to bf16, it has fewer.
V doubleToOddFloat(Builder& b, V x, DType to) {
  constexpr int kCut = 52 - 23;
  V bits = b.cast(Opcode::bitcast, x, Scalar::i64);
  const Type type = b.type(bits);
  V rest = b.binary(Opcode::and_, bits, b.integer(type, (int64_t{1} << kCut) - 1));
  V kept = b.binary(Opcode::xor_, bits, rest);
  V odd = b.binary(Opcode::or_, kept, b.integer(type, int64_t{1} << kCut));
  V exact = b.compare(Opcode::icmp, Predicate::eq, rest, b.integer(type, 0));
  V cut = b.cast(Opcode::bitcast, b.select(exact, kept, odd), Scalar::f64);
  V number = b.cast(Opcode::fptrunc, cut, Scalar::f32);
  if (to != DType::bf16) return number;
  V size = b.unary(Opcode::fabs, x);
  V tiny = b.compare(Opcode::fcmp, Predicate::olt, size, b.number(b.type(x), 0x1p-126));
  V some = b.compare(Opcode::fcmp, Predicate::one, x, b.number(b.type(x), 0));
  const Type types[] = {b.type(number), b.type(x)};
  const FunctionId function =
      b.function(cat("round_to_odd.", toString(b.type(x))), types,
                 [&](std::span<const V> v) { return roundedToOdd(b, v[1]); });
  return b.rarely(b.any(b.binary(Opcode::and_, tiny, some)), function, std::array{number, x});
}

V floatToFloat(Builder& b, V x, DType to) {
  Scalar from = b.type(x).scalar;
  Scalar want = computedScalar(to);
  if (from == Scalar::f64 && isHalfFloat(to))
    return roundTo(b, doubleToOddFloat(b, x, to), to);
  if (from == want) return roundTo(b, x, to);
  return b.cast(from == Scalar::f64 ? Opcode::fptrunc : Opcode::fpext, x, want);
}

// Of a type whose limits the float has: NaN becomes 0, what is beyond a limit that limit.
V floatToNarrowInt(Builder& b, V x, DType to) {
  const Scalar s = storedScalar(to);
  const bool is_signed = isSigned(to);
  const double limit = std::ldexp(1.0, bitWidth(s) - (is_signed ? 1 : 0));
  auto number = [&](double value) { return b.number(b.type(x), value); };
  if (is_signed) x = b.select(b.compare(Opcode::fcmp, Predicate::ord, x, x), x, number(0));
  x = b.binary(Opcode::fmax, x, number(is_signed ? -limit : 0));
  x = b.binary(Opcode::fmin, x, number(limit - 1));
  return b.cast(is_signed ? Opcode::fptosi : Opcode::fptoui, x, s);
}

// Saturates; NaN gives 0.
V floatToInt(Builder& b, V x, DType to) {
  Scalar s = storedScalar(to);
  const int mantissa = b.type(x).scalar == Scalar::f64 ? 53 : 24;
  if (bitWidth(s) <= mantissa) return floatToNarrowInt(b, x, to);
  Type type = b.type(x).with(s);
  int width = bitWidth(s);
  bool is_signed = isSigned(to);
  double limit = std::ldexp(1.0, is_signed ? width - 1 : width);  // first value too large
  double low = is_signed ? -limit : 0.0;
  V hi = b.number(b.type(x), limit);
  V too_high = b.compare(Opcode::fcmp, Predicate::oge, x, hi);
  V in_range = b.compare(Opcode::fcmp, Predicate::ogt, x,
                         b.number(b.type(x), is_signed ? low : -1.0));
  in_range = b.binary(Opcode::and_, in_range,
                      b.binary(Opcode::xor_, too_high, b.constant(b.type(too_high), 1)));
  V safe = b.select(in_range, x, b.number(b.type(x), 0.0));
  V value = b.cast(is_signed ? Opcode::fptosi : Opcode::fptoui, safe, s);
  uint64_t all = ~uint64_t{0};
  V highest = b.constant(type, is_signed ? all >> (65 - width) : all);
  value = b.select(too_high, highest, value);
  if (!is_signed) return value;
  V too_low = b.compare(Opcode::fcmp, Predicate::ole, x, b.number(b.type(x), low));
  return b.select(too_low, b.constant(type, uint64_t{1} << (width - 1)), value);
}

V intToInt(Builder& b, V x, DType from, DType to) {
  Scalar want = storedScalar(to);
  int have_bits = bitWidth(b.type(x).scalar), want_bits = bitWidth(want);
  if (have_bits == want_bits) return x;
  if (have_bits > want_bits) return b.cast(Opcode::itrunc, x, want);
  return b.cast(isSigned(from) ? Opcode::sext : Opcode::zext, x, want);
}

// An integer of 32 bits that f32 holds, and that f16 and bf16 round as they do x: of the lowest bits
// of a large one it matters only whether there are any.
V withFewBits(Builder& b, V x, DType from) {
  constexpr int kExact = 24;
  const Type type = b.type(x);
  const bool is_signed = isSigned(from);
  const int cut = is_signed ? 31 - kExact : 32 - kExact;
  V low = b.binary(Opcode::and_, x, b.integer(type, (int64_t{1} << cut) - 1));
  V some = b.compare(Opcode::icmp, Predicate::ne, low, b.integer(type, 0));
  V kept = b.binary(Opcode::xor_, x, low);
  V large = b.select(some, b.binary(Opcode::or_, kept, b.integer(type, int64_t{1} << cut)), kept);
  V above = is_signed ? b.iadd(x, b.integer(type, int64_t{1} << kExact)) : x;
  V bound = b.integer(type, int64_t{1} << (is_signed ? kExact + 1 : kExact));
  return b.select(b.compare(Opcode::icmp, Predicate::ult, above, bound), x, large);
}

V intToFloat(Builder& b, V x, DType from, DType to) {
  Opcode op = isSigned(from) ? Opcode::sitofp : Opcode::uitofp;
  if (!isHalfFloat(to)) return b.cast(op, x, computedScalar(to));
  if (byteSize(from) <= 2) return roundTo(b, b.cast(op, x, Scalar::f32), to);
  if (byteSize(from) == 4) return roundTo(b, b.cast(op, withFewBits(b, x, from), Scalar::f32), to);
  return floatToFloat(b, b.cast(op, x, Scalar::f64), to);
}

V realToReal(Builder& b, V x, DType from, DType to) {
  if (from == to) return x;
  Type type = b.type(x);
  if (isPred(to)) {
    if (isFloat(from)) return b.compare(Opcode::fcmp, Predicate::une, x, b.number(type, 0.0));
    return b.compare(Opcode::icmp, Predicate::ne, x, b.integer(type, 0));
  }
  if (isPred(from)) {
    if (!isFloat(to)) return b.cast(Opcode::zext, x, storedScalar(to));
    Type result = type.with(computedScalar(to));
    return b.select(x, b.number(result, 1.0), b.number(result, 0.0));
  }
  if (isFloat(from)) return isFloat(to) ? floatToFloat(b, x, to) : floatToInt(b, x, to);
  return isFloat(to) ? intToFloat(b, x, from, to) : intToInt(b, x, from, to);
}

}  // namespace

Scalar storedScalar(DType dtype) {
  switch (storageType(realPart(dtype))) {
    case DType::pred: return Scalar::i1;
    case DType::s8: case DType::u8: return Scalar::i8;
    case DType::s16: case DType::u16: return Scalar::i16;
    case DType::s32: case DType::u32: return Scalar::i32;
    case DType::s64: case DType::u64: return Scalar::i64;
    case DType::f16: return Scalar::f16;
    case DType::bf16: return Scalar::bf16;
    case DType::f32: return Scalar::f32;
    default: return Scalar::f64;
  }
}

Scalar computedScalar(DType dtype) {
  Scalar s = storedScalar(dtype);
  return s == Scalar::f16 || s == Scalar::bf16 ? Scalar::f32 : s;
}

V roundTo(Builder& b, V x, DType dtype) {
  if (dtype != DType::f16 && dtype != DType::bf16) return x;
  if (b.isOfPrecision(x, storedScalar(dtype))) return x;
  return b.cast(Opcode::fpext, b.cast(Opcode::fptrunc, x, storedScalar(dtype)), Scalar::f32);
}

DType bitsOf(DType dtype) {
  switch (dtype) {
    case DType::f16: case DType::bf16: return DType::u16;
    case DType::c64: return DType::u64;
    default: return dtype;
  }
}

Elem elemConstant(Builder& b, DType dtype, const ir::Literal& literal, int64_t index) {
  size_t size = byteSize(realPart(dtype));
  auto part = [&](size_t which) {
    uint64_t bits = elementBits(literal, index, size, which);
    if (dtype == DType::f16)
      return b.number({Scalar::f32, 1}, halfToFloat(static_cast<uint16_t>(bits)));
    if (dtype == DType::bf16)
      return b.constant({Scalar::f32, 1}, bits << 16);
    return b.constant({storedScalar(dtype), 1}, isPred(dtype) ? bits != 0 : bits);
  };
  return isComplex(dtype) ? Elem{part(0), part(1)} : Elem{part(0), {}};
}

Elem elemSelect(Builder& b, V condition, const Elem& on_true, const Elem& on_false) {
  Elem result{b.select(condition, on_true.re, on_false.re), {}};
  if (on_true.im.valid()) result.im = b.select(condition, on_true.im, on_false.im);
  return result;
}

V inBytes(Builder& b, V v) {
  return b.type(v).scalar == Scalar::i1 ? b.cast(Opcode::zext, v, Scalar::i8) : v;
}

V shuffled(Builder& b, V v, std::span<const int16_t> list) {
  V bytes = inBytes(b, v);
  V moved = b.shuffle(bytes, bytes, list);
  return bytes == v ? moved : b.cast(Opcode::itrunc, moved, Scalar::i1);
}

Elem elemWiden(Builder& b, const Elem& x, int lanes) {
  return {b.widen(x.re, lanes), x.im.valid() ? b.widen(x.im, lanes) : V{}};
}

Builder::Values flatten(std::span<const Elem> elems) {
  Builder::Values values;
  for (const Elem& x : elems) {
    values.push_back(x.re);
    if (x.im.valid()) values.push_back(x.im);
  }
  return values;
}

std::vector<Elem> unflatten(std::span<const V> values, std::span<const Elem> like) {
  std::vector<Elem> elems;
  size_t at = 0;
  for (const Elem& x : like) {
    elems.push_back({values[at++], {}});
    if (x.im.valid()) elems.back().im = values[at++];
  }
  return elems;
}

Elem elemConvert(Builder& b, const Elem& x, DType from, DType to) {
  if (from == to) return x;
  if (isComplex(to)) {
    V im = isComplex(from) ? realToReal(b, x.im, realPart(from), realPart(to)) : V{};
    V re = realToReal(b, x.re, realPart(from), realPart(to));
    return {re, im.valid() ? im : b.number(b.type(re), 0.0)};
  }
  if (isComplex(from) && isPred(to)) {
    V re = realToReal(b, x.re, realPart(from), to);
    return {b.binary(Opcode::or_, re, realToReal(b, x.im, realPart(from), to)), {}};
  }
  return {realToReal(b, x.re, realPart(from), to), {}};
}

V elemToIndex(Builder& b, const Elem& x, DType dtype) {
  return realToReal(b, x.re, dtype, DType::s64);
}

}  // namespace tercel::kernel
