// Operators over a builder's values, so that formulas read as formulas. Nothing here contracts:
// a * b + c is two operations, fma(a, b, c) is one.
#pragma once
#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <tuple>
#include <type_traits>

#include "compiler/kernel/math/builder.h"

namespace tercel::math {

template <class B>
struct Mask {
  B* b;
  typename B::M m;
  friend Mask operator&(Mask x, Mask y) { return {x.b, x.b->maskAnd(x.m, y.m)}; }
  friend Mask operator|(Mask x, Mask y) { return {x.b, x.b->maskOr(x.m, y.m)}; }
  friend Mask operator!(Mask x) { return {x.b, x.b->maskNot(x.m)}; }
};

template <class B>
struct Bits {
  B* b;
  typename B::I i;
  Bits same(int64_t n) const { return {b, b->constantInt(n)}; }
  friend Bits operator+(Bits x, Bits y) { return {x.b, x.b->iadd(x.i, y.i)}; }
  friend Bits operator-(Bits x, Bits y) { return {x.b, x.b->isub(x.i, y.i)}; }
  friend Bits operator*(Bits x, Bits y) { return {x.b, x.b->imul(x.i, y.i)}; }
  friend Bits operator&(Bits x, Bits y) { return {x.b, x.b->iand(x.i, y.i)}; }
  friend Bits operator|(Bits x, Bits y) { return {x.b, x.b->ior(x.i, y.i)}; }
  friend Bits operator^(Bits x, Bits y) { return {x.b, x.b->ixor(x.i, y.i)}; }
  friend Bits operator+(Bits x, int64_t n) { return x + x.same(n); }
  friend Bits operator-(Bits x, int64_t n) { return x - x.same(n); }
  friend Bits operator-(int64_t n, Bits x) { return x.same(n) - x; }
  friend Bits operator&(Bits x, int64_t n) { return x & x.same(n); }
  friend Bits operator|(Bits x, int64_t n) { return x | x.same(n); }
  friend Bits operator^(Bits x, int64_t n) { return x ^ x.same(n); }
  Bits shl(Bits n) const { return {b, b->shl(i, n.i)}; }
  Bits lshr(Bits n) const { return {b, b->lshr(i, n.i)}; }
  Bits shl(int n) const { return shl(same(n)); }
  Bits lshr(int n) const { return lshr(same(n)); }
  Bits ashr(int n) const { return {b, b->ashr(i, b->constantInt(n))}; }
  friend Bits umulh(Bits x, Bits y) { return {x.b, x.b->umulh(x.i, y.i)}; }
  friend Mask<B> operator==(Bits x, int64_t n) { return {x.b, x.b->ieq(x.i, x.same(n).i)}; }
  friend Mask<B> operator<(Bits x, Bits y) { return {x.b, x.b->ilt(x.i, y.i)}; }
  friend Mask<B> operator<(Bits x, int64_t n) { return {x.b, x.b->ilt(x.i, x.same(n).i)}; }
  friend Bits select(Mask<B> m, Bits x, Bits y) { return {x.b, x.b->iselect(m.m, x.i, y.i)}; }
};

template <class B>
struct Real {
  B* b;
  typename B::V v;
  Real same(double c) const { return {b, b->constant(c)}; }
  Bits<B> bits() const { return {b, b->bitsOf(v)}; }

  friend Real operator+(Real x, Real y) { return {x.b, x.b->add(x.v, y.v)}; }
  friend Real operator-(Real x, Real y) { return {x.b, x.b->sub(x.v, y.v)}; }
  friend Real operator*(Real x, Real y) { return {x.b, x.b->mul(x.v, y.v)}; }
  friend Real operator/(Real x, Real y) { return {x.b, x.b->div(x.v, y.v)}; }
  friend Real operator-(Real x) { return {x.b, x.b->neg(x.v)}; }
  friend Real operator+(Real x, double c) { return x + x.same(c); }
  friend Real operator-(Real x, double c) { return x - x.same(c); }
  friend Real operator*(Real x, double c) { return x * x.same(c); }
  friend Real operator/(Real x, double c) { return x / x.same(c); }
  friend Real operator+(double c, Real x) { return x.same(c) + x; }
  friend Real operator-(double c, Real x) { return x.same(c) - x; }
  friend Real operator*(double c, Real x) { return x.same(c) * x; }
  friend Real operator/(double c, Real x) { return x.same(c) / x; }

  friend Mask<B> operator<(Real x, Real y) { return {x.b, x.b->lt(x.v, y.v)}; }
  friend Mask<B> operator>(Real x, Real y) { return y < x; }
  friend Mask<B> operator<=(Real x, Real y) { return {x.b, x.b->le(x.v, y.v)}; }
  friend Mask<B> operator>=(Real x, Real y) { return y <= x; }
  friend Mask<B> operator==(Real x, Real y) { return {x.b, x.b->eq(x.v, y.v)}; }
  friend Mask<B> operator!=(Real x, Real y) { return {x.b, x.b->ne(x.v, y.v)}; }
  friend Mask<B> operator<(Real x, double c) { return x < x.same(c); }
  friend Mask<B> operator>(Real x, double c) { return x > x.same(c); }
  friend Mask<B> operator<=(Real x, double c) { return x <= x.same(c); }
  friend Mask<B> operator>=(Real x, double c) { return x >= x.same(c); }
  friend Mask<B> operator==(Real x, double c) { return x == x.same(c); }
  friend Mask<B> operator!=(Real x, double c) { return x != x.same(c); }

  friend Real fma(Real x, Real y, Real z) { return {x.b, x.b->fma(x.v, y.v, z.v)}; }
  friend Real fma(Real x, double y, Real z) { return fma(x, x.same(y), z); }
  friend Real fma(Real x, Real y, double z) { return fma(x, y, x.same(z)); }
  friend Real fma(Real x, double y, double z) { return fma(x, x.same(y), x.same(z)); }
  friend Real abs(Real x) { return {x.b, x.b->abs(x.v)}; }
  friend Real sqrt(Real x) { return {x.b, x.b->sqrt(x.v)}; }
  friend Real trunc(Real x) { return {x.b, x.b->trunc(x.v)}; }
  // The second operand where either is NaN: min(c, x) and max(c, x) keep x's NaN.
  friend Real min(Real x, Real y) { return {x.b, x.b->min(x.v, y.v)}; }
  friend Real max(Real x, Real y) { return {x.b, x.b->max(x.v, y.v)}; }
  friend Real min(double c, Real x) { return min(x.same(c), x); }
  friend Real max(double c, Real x) { return max(x.same(c), x); }
  friend Mask<B> isNan(Real x) { return x != x; }
  friend Real select(Mask<B> m, Real x, Real y) { return {x.b, x.b->select(m.m, x.v, y.v)}; }
  friend Real select(Mask<B> m, double x, Real y) { return select(m, y.same(x), y); }
  friend Real select(Mask<B> m, Real x, double y) { return select(m, x, x.same(y)); }
};

template <class B>
Real<B> fromBits(Bits<B> x) {
  return {x.b, x.b->fromBits(x.i)};
}

template <class B>
Real<B> fromInt(Bits<B> x) {
  return {x.b, x.b->fromInt(x.i)};
}

// f(y, rest...), which is y where m is false. `name` stands for f, whatever y and the rest are.
template <class B, class F, class... Rest>
Real<B> rarely(const char* name, Mask<B> m, F f, Real<B> y, Rest... rest) {
  static_assert(std::is_empty_v<F>, "what f works on are its arguments");
  B& b = *m.b;
  std::array<typename B::V, 1 + sizeof...(rest)> args = {y.v, rest.v...};
  auto body = [&](const auto& values) {
    return std::apply([&](auto... v) { return f(Real<B>{&b, v}...).v; }, values);
  };
  if constexpr (requires { b.rarely(name, m.m, args, body); }) {
    return {&b, b.rarely(name, m.m, args, body)};
  } else {
    return f(y, rest...);
  }
}

// The format of B's floats.
template <class B>
struct Format {
  static constexpr bool kIsF64 = B::kBits == 64;
  static constexpr int64_t bitsOf(double c) {
    if constexpr (kIsF64) {
      return std::bit_cast<int64_t>(c);
    } else {
      return std::bit_cast<int32_t>(static_cast<float>(c));
    }
  }
  static constexpr int kMantissa = kIsF64 ? 52 : 23;  // stored bits
  static constexpr int kBias = kIsF64 ? 1023 : 127;
  static constexpr int64_t kOne = static_cast<int64_t>(kBias) << kMantissa;
  static constexpr int64_t kSign = kIsF64 ? INT64_MIN : INT64_C(0x80000000);
  static constexpr double kInfinity = __builtin_inf();
  static constexpr double kNan = __builtin_nan("");
  static constexpr double kMinNormal = kIsF64 ? 0x1p-1022 : 0x1p-126;
  // x + kShifter rounds x to an integer, in the low bits of the sum; |x| < 2^(kMantissa - 1).
  static constexpr double kShifter = kIsF64 ? 0x1.8p52 : 0x1.8p23;
  static constexpr int64_t kShifterBits = bitsOf(kShifter);
  // Below it f(x) = x + O(x^2) rounds to x.
  static constexpr double kTiny = kIsF64 ? 0x1p-54 : 0x1p-25;
};

template <class B>
Mask<B> isPositiveNormalBelow(Real<B> x, double bound) {
  using F = Format<B>;
  constexpr int64_t first = F::bitsOf(F::kMinNormal);
  // From the first one's bits on, moved to where signed integers begin.
  return x.bits() - (first ^ F::kSign) < x.bits().same((F::bitsOf(bound) - first) ^ F::kSign);
}

template <class B>
Mask<B> isPositiveNormal(Real<B> x) {  // and finite
  return isPositiveNormalBelow(x, Format<B>::kInfinity);
}

template <class B>
Real<B> orSignOf(Real<B> x, Real<B> source) {  // x, which has source's sign except maybe where 0
  return fromBits(x.bits() | (source.bits() & Format<B>::kSign));
}

template <class B>
Real<B> xorSign(Real<B> x, Real<B> sign_source) {
  return fromBits(x.bits() ^ (sign_source.bits() & Format<B>::kSign));
}

// How c[0] + c[1] x + ... of `count` coefficients is split: x^low times those from c[low] on, and
// those below. Of what is as short a chain of dependent operations as there is (Estrin's) the one
// with the fewest powers: a chain as long as Horner's keeps a core's scheduler full of waiting
// operations, and costs more time than the few powers.
struct PolynomialSplit {
  size_t low;
  int chain;  // dependent operations
  int power;  // x^(2^power) is the largest power needed
};
constexpr PolynomialSplit splitOfPolynomial(size_t count) {
  PolynomialSplit best{0, 0, 0};
  for (int power = 0; (size_t{1} << power) < count; ++power) {
    const size_t low = size_t{1} << power;
    const PolynomialSplit below = splitOfPolynomial(low), above = splitOfPolynomial(count - low);
    const int chain = std::max({below.chain, above.chain, power}) + 1;
    if (!best.low || chain < best.chain)
      best = {low, chain, std::max({below.power, above.power, power})};
  }
  return best;
}

template <size_t first, size_t count, class B, size_t n>
Real<B> polynomialPart(const std::array<Real<B>, 5>& powers, const std::array<double, n>& c) {
  if constexpr (count == 1) {
    return powers[0].same(c[first]);
  } else if constexpr (count == 2) {
    return fma(powers[0], c[first + 1], c[first]);
  } else {
    constexpr size_t low = splitOfPolynomial(count).low;
    return fma(polynomialPart<first + low, count - low>(powers, c),
               powers[std::bit_width(low) - 1], polynomialPart<first, low>(powers, c));
  }
}

template <class B, size_t n>
Real<B> polynomial(Real<B> x, const std::array<double, n>& c) {
  static_assert(n <= 32);
  std::array<Real<B>, 5> powers = {x, x, x, x, x};  // x, x^2, x^4, ... as far as needed
  for (int i = 1; i <= splitOfPolynomial(n).power; ++i) powers[i] = powers[i - 1] * powers[i - 1];
  return polynomialPart<0, n>(powers, c);
}

template <size_t n>
constexpr std::array<double, n - 1> withoutFirst(const std::array<double, n>& c) {
  std::array<double, n - 1> rest;
  for (size_t i = 1; i < n; ++i) rest[i - 1] = c[i];
  return rest;
}

// An integer small enough to be exact; cheaper than a conversion on f64, which AVX2 lacks.
template <class B>
Real<B> fromSmallInt(Bits<B> x) {
  if constexpr (Format<B>::kIsF64) {
    return fromBits(x + Format<B>::kShifterBits) - Format<B>::kShifter;
  } else {
    return fromInt(x);
  }
}

}  // namespace tercel::math
