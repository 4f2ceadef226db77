#include "compiler/kernel/elem_divide.h"

#include <array>
#include <bit>
#include <type_traits>

#include "compiler/kernel/elem_tiny.h"
#include "compiler/kernel/exact_inverse.h"
#include "compiler/kernel/float_bits.h"
#include "compiler/kernel/math/root.h"
#include "compiler/kernel/math_builder.h"
#include "core/status.h"

namespace tercel::kernel {
namespace {

struct Powers {
  int least, most;  // of 2
};
// Dividends and divisors of which nothing overflows on the way, quotients and reciprocals are
// normal numbers, and what is left of a dividend is exact.
Powers dividends(Scalar s) { return s == Scalar::f64 ? Powers{-800, 700} : Powers{-98, 64}; }
Powers divisors(Scalar s) { return s == Scalar::f64 ? Powers{-300, 200} : Powers{-60, 26}; }
// More, where the one depends on the other: quotients are as far from 1 as such divisors at most.
Powers anyDividends(Scalar s) { return s == Scalar::f64 ? Powers{-960, 1022} : Powers{-98, 126}; }
Powers anyDivisors(Scalar s) { return s == Scalar::f64 ? Powers{-1020, 1020} : Powers{-124, 124}; }

Scalar wordOf(Scalar s) { return s == Scalar::f64 ? Scalar::i64 : Scalar::i32; }

V powerOf2(Builder& b, V bits, int e) {
  return exponent(b, bits, e + (b.type(bits).scalar == Scalar::i64 ? 1023 : 127));
}

// Magnitudes, as bits.
struct Range {
  V least, most;
};
Range rangeOf(Builder& b, V bits, const Powers& of) {
  return {powerOf2(b, bits, of.least), powerOf2(b, bits, of.most)};
}

V isOutside(Builder& b, V bits, const Range& range) {
  return b.compare(Opcode::icmp, Predicate::ugt, b.isub(bits, range.least),
                   b.isub(range.most, range.least));
}

// Made of an integer: 0, or from 1 to 2^64.
bool isWhole(Builder& b, V x) {
  const Inst* def = b.kernel().def(x);
  return def && (def->op == Opcode::sitofp || def->op == Opcode::uitofp);
}

V reciprocalOf(Builder& b, V y) { return b.binary(Opcode::fdiv, b.number(b.type(y), 1), y); }

// What is left of the dividend, which is exact, rounds its product with the reciprocal as division
// would (Markstein; Brisebarre, Muller and Raina, Accelerating correctly rounded floating-point
// division when the divisor is known in advance, 2004).
V quotientBy(Builder& b, V x, V y, V reciprocal) {
  V about = b.fmul(x, reciprocal);
  V rest = b.fma(b.unary(Opcode::fneg, about), y, x);
  return b.fma(rest, reciprocal, about);
}

V unlessUnsafe(Builder& b, V unsafe, V quotient, V x, V y) {
  const Type type = b.type(x), types[] = {type, type, type};
  const FunctionId divide =
      b.function(cat("divide_any.", toString(type)), types,
                 [&](std::span<const V> v) { return divideBranching(b, v[1], v[2]); });
  return b.rarely(unsafe, divide, std::array{quotient, x, b.widen(y, type.lanes)});
}

// The quotient of +0 by a positive number is +0 by itself.
V divideWhole(Builder& b, V x, V y) {
  V bits = b.cast(Opcode::bitcast, y, wordOf(b.type(y).scalar));
  V unsafe = b.any(isOutside(b, bits, rangeOf(b, bits, divisors(b.type(y).scalar))));
  return unlessUnsafe(b, unsafe, quotientBy(b, x, y, reciprocalOf(b, y)), x, y);
}

// What is safe to divide by a y of this size. Rows have a divisor each, for which it takes less
// time to have a range for all.
struct Safe {
  Range dividends;
  V no_divisor;  // where y is none of
};
Safe whatIsSafe(Builder& b, V y) {
  const Scalar s = b.type(y).scalar;
  V size = magnitudeOf(b, y);
  if (!b.isFromOutside(y, 2))
    return {rangeOf(b, size, dividends(s)), isOutside(b, size, rangeOf(b, size, divisors(s)))};
  const int farthest = anyDivisors(s).most;
  V reach = exponent(b, size, farthest);
  V least = powerOf2(b, size, anyDividends(s).least);
  V most = powerOf2(b, size, anyDividends(s).most - farthest);
  return {{b.binary(Opcode::smax, b.isub(size, reach), least),
           b.iadd(b.binary(Opcode::smin, size, most), reach)},
          isOutside(b, size, rangeOf(b, size, anyDivisors(s)))};
}

// By 1 / y, which loops over x work out once. Microcode would take part in arithmetic on dividends
// that are not safe, but for 0, whose product is its quotient.
V divideByReciprocal(Builder& b, V x, V y) {
  const Safe safe = whatIsSafe(b, y);
  V size = magnitudeOf(b, x);
  V some = b.compare(Opcode::icmp, Predicate::ne, size, b.integer(b.type(size), 0));
  V outside = b.binary(Opcode::and_, isOutside(b, size, safe.dividends), some);
  V dividend = b.select(outside, b.number(b.type(x), 1), x), reciprocal = reciprocalOf(b, y);
  V quotient = b.select(some, quotientBy(b, dividend, y, reciprocal), b.fmul(dividend, reciprocal));
  V unsafe = b.binary(Opcode::or_, b.any(outside), b.any(safe.no_divisor));
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

// x / sqrt(z), to two ulps, where the machine knows 1 / sqrt(z) sooner than either, or a loop over
// x works it out once.
V divideByRoot(Builder& b, V x, V y) {
  const Inst* root = b.kernel().def(y);
  if (root && root->op == Opcode::splat) {
    y = root->operands[0];
    root = b.kernel().def(y);
  }
  const Type type = b.type(y);
  if (!b.machine.has_rsqrt14 || !root || root->op != Opcode::fsqrt) return {};
  if (!type.isVector()) {
    const bool is_once = b.type(x).isVector() && b.isFromOutside(y);
    return is_once ? b.fmul(x, reciprocalOf(b, y)) : V{};
  }
  if (type.lanes * bitWidth(type.scalar) < 128) return {};
  const V z = root->operands[0];
  auto reciprocal = [&](auto math) { return math::rsqrt(math, z); };
  return b.fmul(x, type.scalar == Scalar::f64 ? reciprocal(MathBuilder<64>{b, type.lanes})
                                              : reciprocal(MathBuilder<32>{b, type.lanes}));
}

V divideFloats(Builder& b, V x, V y) {
  constexpr int kMostBranches = 24;  // over which all values that are alive are kept in place
  if (b.rareCalls() >= kMostBranches) return b.binary(Opcode::fdiv, x, y);
  if (V quotient = divideByKnown(b, x, y); quotient.valid()) return quotient;
  if (V quotient = divideByRoot(b, x, y); quotient.valid()) return quotient;
  if (suitsReciprocal(b, x, y)) {
    if (isWhole(b, x)) return divideWhole(b, x, y);
    if (b.machine.slow_division) return divideByReciprocal(b, x, y);
  }
  return looksForTiny(b, x) ? divideLooking(b, x, y) : b.binary(Opcode::fdiv, x, y);
}

}  // namespace tercel::kernel
