// exponential, exp2, exponential_minus_one, logistic.
#pragma once
#include "compiler/kernel/math/coefficients.h"
#include "compiler/kernel/math/expr.h"

namespace tercel::math {

// x = k ln2 + r with |r| <= ln2 / 2; `shifted` has k in its low bits.
template <class B>
struct ExpReduction {
  Real<B> shifted, k, r;
};

template <class B>
ExpReduction<B> reduceExp(Real<B> x) {
  using C = Coefficients<B::kBits>;
  Real<B> shifted = fma(x, C::log2e[0], Format<B>::kShifter);
  Real<B> k = shifted - Format<B>::kShifter;
  Real<B> r = fma(k, -C::ln2[1], fma(k, -C::ln2[0], x));
  return {shifted, k, r};
}

// The same for x - rest, where rest is at most about an ulp of x.
template <class B>
ExpReduction<B> reduceExp(Real<B> x, Real<B> rest) {
  using C = Coefficients<B::kBits>;
  Real<B> shifted = fma(x, C::log2e[0], Format<B>::kShifter);
  Real<B> k = shifted - Format<B>::kShifter;
  Real<B> r = fma(k, -C::ln2[0], x) - fma(k, C::ln2[1], rest);
  return {shifted, k, r};
}

template <class B>
Real<B> powerOfTwo(Bits<B> k) {  // 2^k, normal
  return fromBits(k.shl(Format<B>::kMantissa) + Format<B>::kOne);
}

// p * 2^k with the result subnormal or infinite where it must be; |k| up to twice the exponent
// range. NaN p stays NaN whatever k is.
template <class B>
Real<B> scaleByPower(Real<B> p, Bits<B> k) {
  Bits<B> half = k.ashr(1);
  return p * powerOfTwo(half) * powerOfTwo(k - half);
}

template <class B>
bool hasScalb(const B& b) {
  if constexpr (requires { b.hasScalb(); }) return b.hasScalb();
  return false;
}

// The same with k as a float, and k in the low bits of `shifted`.
template <class B>
Real<B> scaleByPower(Real<B> p, Real<B> shifted, [[maybe_unused]] Real<B> k) {
  if constexpr (requires { p.b->scalb(p.v, k.v); })
    if (hasScalb(*p.b)) return {p.b, p.b->scalb(p.v, k.v)};
  return scaleByPower(p, shifted.bits() - Format<B>::kShifterBits);
}

template <class B>
bool hasQuickSubnormals(const B& b) {
  if constexpr (requires { b.hasQuickSubnormals(); }) return b.hasQuickSubnormals();
  return false;
}

// The same where x < bound in the lanes whose result is less than the smallest normal number: they
// are scaled to a count of the smallest subnormal ones, and that count is the result's bits.
// Many machines take microcode, some hundred cycles, where they multiply or scale to a subnormal
// number. p is from 1/2 to 2, k at most one more than the largest exponent, and not as small as to
// make the count less than 2^-100.
template <class B>
Real<B> scaleByPower(Real<B> p, Real<B> shifted, Real<B> k, Real<B> x, double bound) {
  using F = Format<B>;
  if (hasScalb(*p.b) && hasQuickSubnormals(*p.b)) return scaleByPower(p, shifted, k);
  Mask<B> tiny = x < bound;
  constexpr double up = F::kBias - 1 + F::kMantissa;
  constexpr double unit = INT64_C(1) << F::kMantissa;  // y + unit is rounded to an integer
  if (!hasScalb(*p.b)) {
    // 2p 2^(k - 1), as p < 1 where 2^k is more than there is; 2^(k - 1) may be a subnormal number.
    constexpr int64_t least = INT64_C(1) << (F::kMantissa - 1);
    Bits<B> power = (shifted + select(tiny, up, p.same(0.0))).bits().shl(F::kMantissa) +
                    (F::kOne - (INT64_C(1) << F::kMantissa));
    Real<B> half = fromBits(select(power < least, power.same(least), power));
    Real<B> added = select(tiny, unit, p.same(0.0));
    return fromBits(fma(p + p, half, added).bits() - added.bits());
  }
  Real<B> y = scaleByPower(p, select(tiny, shifted + up, shifted), select(tiny, k + up, k));
  return select(tiny, fromBits((y + unit).bits() - F::bitsOf(unit)), y);
}

// Below the first e^x rounds to 0, below the second it is subnormal, above the third infinite.
template <class B>
struct ExpRange {
  static constexpr double kLow = Format<B>::kIsF64 ? -746 : -104;
  static constexpr double kSubnormal = Format<B>::kIsF64 ? -708.3965 : -87.3366;
  static constexpr double kHigh = Format<B>::kIsF64 ? 710 : 89;
};

template <class B>
Real<B> expOfReduced(Real<B> r) {
  Real<B> q = fma(polynomial(r, Coefficients<B::kBits>::exp), r, 1.0);
  return fma(q, r, 1.0);
}

// x (e^r + rest), rest no larger than an ulp of 1.
template <class B>
Real<B> timesExpOfReduced(Real<B> x, Real<B> r, Real<B> rest) {
  Real<B> q = fma(polynomial(r, Coefficients<B::kBits>::exp), r, 1.0);
  return fma(x, fma(q, r, rest), x);
}

// For x up to ExpRange.
template <class B>
Real<B> expFromBelow(Real<B> x) {
  x = max(ExpRange<B>::kLow, x);
  auto [shifted, k, r] = reduceExp(x);
  return scaleByPower(expOfReduced(r), shifted, k, x, ExpRange<B>::kSubnormal);
}

template <class B>
Real<B> exp(Real<B> x) {
  return expFromBelow(min(ExpRange<B>::kHigh, x));
}

// 2^k 2^r, k the nearest integer to x.
template <class B>
Real<B> exp2(Real<B> x) {
  using F = Format<B>;
  constexpr double ln2 = 0.69314718055994530942;
  constexpr double low = 1 - F::kBias - F::kMantissa - 2;  // 0 from here down
  x = max(low, min(F::kBias + 1.0, x));
  Real<B> shifted = x + F::kShifter;
  Real<B> k = shifted - F::kShifter, r = x - k;
  Real<B> p = fma(fma(polynomial(r, Coefficients<B::kBits>::exp2), r, ln2), r, 1.0);
  return scaleByPower(p, shifted, k, x, 1 - F::kBias);
}

// (e^x - 1) / 2 for x up to ExpRange, not too far below 0.
template <class B>
Real<B> halfExpm1(Real<B> x) {
  constexpr int mantissa = Format<B>::kMantissa;
  auto [shifted, k, r] = reduceExp(x);
  Real<B> p = fma(r * r, polynomial(r, Coefficients<B::kBits>::exp), r);
  // (2^k - 1) + 2^k p, halved so that k may reach the exponent's end.
  Bits<B> half_bits = shifted.bits().shl(mantissa) + (Format<B>::kOne - (INT64_C(1) << mantissa));
  Real<B> half = fromBits(half_bits);
  return fma(half, p, half - 0.5);
}

template <class B>
Real<B> expm1(Real<B> x) {
  constexpr double low = Format<B>::kIsF64 ? -40 : -20;
  Real<B> y = halfExpm1(max(low, min(ExpRange<B>::kHigh, x)));
  return select(abs(x) < Format<B>::kTiny, x, y + y);
}

template <class B>
Real<B> logistic(Real<B> x) {
  Real<B> e = expFromBelow(-abs(x));
  return select(x < 0.0, e, 1.0) / (e + 1.0);
}

template <MathBuilder B>
typename B::V exponential(B& b, typename B::V x) {
  return exp(Real<B>{&b, x}).v;
}

template <MathBuilder B>
typename B::V exp2(B& b, typename B::V x) {
  return exp2(Real<B>{&b, x}).v;
}

template <MathBuilder B>
typename B::V exponential_minus_one(B& b, typename B::V x) {
  return expm1(Real<B>{&b, x}).v;
}

template <MathBuilder B>
typename B::V logistic(B& b, typename B::V x) {
  return logistic(Real<B>{&b, x}).v;
}

}  // namespace tercel::math
