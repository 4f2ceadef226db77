// power of floats of 32 bits in arithmetic of 64: where lanes are few a function is waited for, and
// this one takes half as long as that in two floats. No values need a branch.
#pragma once
#include "compiler/kernel/math/exponential.h"
#include "compiler/kernel/math/log.h"

namespace tercel::math {

// log2(x) for x > 0 and finite, relative to which the error is 2^-34; for 0 and infinity a number of
// the same sign.
template <class B>
Real<B> log2OfNarrow(Real<B> x) {
  auto [m, e, power] = reduceLog(x, false);
  Real<B> f = m - 1.0;
  return fma(f, polynomial(f, Coefficients<B::kBits>::narrow_log2), e);
}

// 2^x with sign_source's sign, |x| < 1000.
template <class B>
Real<B> exp2OfNarrow(Real<B> x, Real<B> sign_source) {
  Real<B> shifted = x + Format<B>::kShifter;
  Real<B> r = x - (shifted - Format<B>::kShifter);
  Real<B> power = xorSign(powerOfTwo(shifted.bits()), sign_source);
  return fma(r * power, polynomial(r, Coefficients<B::kBits>::narrow_exp2), power);
}

// All that is special is told and chosen beside the chain from x to the power, which ends in one
// select.
template <class B>
Real<B> powOfNarrow(Real<B> x, Real<B> y) {
  using F = Format<B>;
  constexpr double most = 170;  // 2^most is infinite as a float of 32 bits, 2^-most zero
  Real<B> size = abs(x), zero = x.same(0.0);
  Mask<B> finite = size < F::kInfinity;
  Mask<B> integer = trunc(y) == y;
  Real<B> half = y * 0.5;
  Mask<B> odd = integer & (trunc(half) != half);
  Real<B> sign_source = select(odd, x, zero);
  Mask<B> one = (x == 1.0) | (y == 0.0);
  Mask<B> none = ((x < 0.0) & finite & !integer) | isNan(x) | isNan(y);

  Real<B> bounded = max(-0x1p40, min(0x1p40, y));  // infinity times log2(1) would be NaN
  Real<B> exponent = log2OfNarrow(size) * bounded;
  Mask<B> limited = (size == 0.0) | !finite | (abs(exponent) > most);
  Real<B> limit = xorSign(select(exponent > 0.0, F::kInfinity, zero), sign_source);
  Real<B> other = select(one, 1.0, select(none, F::kNan, limit));
  return select(one | none | limited, other, exp2OfNarrow(exponent, sign_source));
}

// Of x and y that are floats of 32 bits; so is the result once it is rounded to one.
template <MathBuilder B>
  requires(B::kBits == 64)
typename B::V powerOfNarrow(B& b, typename B::V x, typename B::V y) {
  return powOfNarrow(Real<B>{&b, x}, Real<B>{&b, y}).v;
}

}  // namespace tercel::math
