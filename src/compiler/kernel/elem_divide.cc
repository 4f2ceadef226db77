#include "compiler/kernel/elem_divide.h"

#include <array>
#include <bit>
#include <type_traits>

#include "compiler/kernel/elem_tiny.h"
#include "compiler/kernel/exact_inverse.h"
#include "core/status.h"

namespace tercel::kernel {
namespace {

// Magnitudes from 2^least to 2^most.
struct Range {
  int least, most;
};
// Where nothing overflows on the way, quotients are normal numbers, and what is left is exact.
Range dividends(Scalar s) { return s == Scalar::f64 ? Range{-800, 700} : Range{-98, 64}; }
Range divisors(Scalar s) { return s == Scalar::f64 ? Range{-300, 200} : Range{-60, 26}; }

Scalar wordOf(Scalar s) { return s == Scalar::f64 ? Scalar::i64 : Scalar::i32; }

V magnitudeOf(Builder& b, V x) {
  const Type word = b.type(x).with(wordOf(b.type(x).scalar));
  const uint64_t mask = (uint64_t{1} << (bitWidth(word.scalar) - 1)) - 1;
  return b.binary(Opcode::and_, b.cast(Opcode::bitcast, x, word.scalar), b.constant(word, mask));
}

V isOutside(Builder& b, V bits, const Range& range) {
  const bool wide = b.type(bits).scalar == Scalar::i64;
  const int mantissa = wide ? 52 : 23, bias = wide ? 1023 : 127;
  auto power = [&](int e) {
    return b.constant(b.type(bits), static_cast<uint64_t>(bias + e) << mantissa);
  };
  V lowest = power(range.least);
  V span = b.isub(power(range.most), lowest);
  return b.compare(Opcode::icmp, Predicate::ugt, b.isub(bits, lowest), span);
}

// Made of an integer: 0, or from 1 to 2^64, which is among the dividends.
bool isWhole(Builder& b, V x) {
  const Inst* def = b.kernel().def(x);
  return def && (def->op == Opcode::sitofp || def->op == Opcode::uitofp);
}

V quotientOf(Builder& b, V x, V y) {
  const bool has_range = b.type(x).scalar == Scalar::f64;
  return has_range ? b.binary(Opcode::fdiv, x, y) : inDoubles(b, Opcode::fdiv, x, y);
}

// 1 / y, and what it lacks.
struct Reciprocal {
  V y, high, low;
};
Reciprocal reciprocalOf(Builder& b, V y) {
  V one = b.number(b.type(y), 1);
  V high = b.binary(Opcode::fdiv, one, y);
  return {y, high, b.fmul(b.fma(b.unary(Opcode::fneg, y), high, one), high)};
}

// First right to one ulp; what is left of the dividend, which is exact, then rounds it as division
// would (Markstein).
V quotientBy(Builder& b, V x, const Reciprocal& of) {
  V about = b.fma(x, of.high, b.fmul(x, of.low));
  V rest = b.fma(b.unary(Opcode::fneg, about), of.y, x);
  return b.fma(rest, of.high, about);
}

V unlessUnsafe(Builder& b, V unsafe, V quotient, V x, V y) {
  const Type type = b.type(x), types[] = {type, type, type};
  const FunctionId divide =
      b.function(cat("divide.", toString(type)), types,
                 [&](std::span<const V> v) { return quotientOf(b, v[1], v[2]); });
  return b.rarely(unsafe, divide, std::array{quotient, x, b.widen(y, type.lanes)});
}

// The quotient of +0 by a positive number is +0 by itself.
V divideWhole(Builder& b, V x, V y) {
  V bits = b.cast(Opcode::bitcast, y, wordOf(b.type(y).scalar));
  V unsafe = b.any(isOutside(b, bits, divisors(b.type(y).scalar)));
  return unlessUnsafe(b, unsafe, quotientBy(b, x, reciprocalOf(b, y)), x, y);
}

// By 1 / y, which loops over x work out once.
V divideByReciprocal(Builder& b, V x, V y) {
  const Type type = b.type(x);
  V size = magnitudeOf(b, x);
  V some = b.compare(Opcode::icmp, Predicate::ne, size, b.integer(b.type(size), 0));
  V outside = b.binary(Opcode::and_, some, isOutside(b, size, dividends(type.scalar)));
  V unsafe = b.binary(Opcode::or_, b.any(outside),
                      b.any(isOutside(b, magnitudeOf(b, y), divisors(type.scalar))));
  // Microcode would take part in arithmetic on subnormal numbers, whose quotients are not used.
  V dividend = b.select(outside, b.number(type, 1), x);
  const Reciprocal of = reciprocalOf(b, y);
  V quotient = b.select(some, quotientBy(b, dividend, of), b.fmul(dividend, of.high));
  return unlessUnsafe(b, unsafe, quotient, x, y);
}

// By two products, which are right but where the second one may be a subnormal number.
template <typename T>
V divideByTwoProducts(Builder& b, V x, V y, const ExactInverse<T>& of) {
  const Type type = b.type(x);
  using Word = std::conditional_t<sizeof(T) == 8, uint64_t, uint32_t>;
  const Word one = 1, least = std::bit_cast<Word>(of.least);
  V size = magnitudeOf(b, x);
  V tiny = b.compare(Opcode::icmp, Predicate::ult, b.isub(size, b.constant(b.type(size), one)),
                     b.constant(b.type(size), least - one));
  V dividend = b.machine.slow_subnormals ? b.select(tiny, b.number(type, 1), x) : x;
  V quotient = b.fma(dividend, b.number(type, of.high), b.fmul(dividend, b.number(type, of.low)));
  return unlessUnsafe(b, b.any(tiny), quotient, x, y);
}

// Invalid where y is not known, or not such a number.
V divideByKnown(Builder& b, V x, V y) {
  constexpr int64_t kSmallestVector = 32;
  const Type type = b.type(x);
  uint64_t bits;
  if (!type.isVector() || type.lanes * byteSize(type.scalar) < kSmallestVector ||
      !b.isConstant(y, &bits))
    return {};
  auto by = [&](auto divisor) {
    const auto of = exactInverse(divisor);
    return of ? divideByTwoProducts(b, x, y, *of) : V{};
  };
  return type.scalar == Scalar::f64 ? by(std::bit_cast<double>(bits))
                                    : by(std::bit_cast<float>(static_cast<uint32_t>(bits)));
}

// A loop in a task's loop, outside of which y is known. Smaller vectors are divided in less time than
// the checks take: of 512 bits it is as much as of twice 256.
bool suitsReciprocal(const Builder& b, V x, V y) {
  constexpr int64_t kSmallestVector = 64;
  const Type type = b.type(x);
  return type.isVector() && type.lanes * byteSize(type.scalar) >= kSmallestVector &&
         b.depth() >= 2 && b.isFromOutside(y);
}

}  // namespace

V divideFloats(Builder& b, V x, V y) {
  if (V quotient = divideByKnown(b, x, y); quotient.valid()) return quotient;
  if (suitsReciprocal(b, x, y)) {
    if (isWhole(b, x)) return divideWhole(b, x, y);
    if (b.machine.slow_division) return divideByReciprocal(b, x, y);
  }
  return looksForTiny(b, x) ? divideLooking(b, x, y) : b.binary(Opcode::fdiv, x, y);
}

}  // namespace tercel::kernel
