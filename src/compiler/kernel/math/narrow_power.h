// power of floats of 32 bits in arithmetic of 64: where lanes are few a function is waited for, and
// this one takes half as long as that in two floats. No values need a branch.
#pragma once
#include "compiler/kernel/math/exponential.h"
#include "compiler/kernel/math/log.h"

namespace tercel::math {

// log2(x) for x >= 0 or NaN, relative to which the error is 2^-34.
template <class B>
Real<B> log2OfNarrow(Real<B> x) {
  constexpr double infinity = Format<B>::kInfinity;
  auto [m, e, power] = reduceLog(x, false);
  Real<B> f = m - 1.0;
  Real<B> y = fma(f, polynomial(f, Coefficients<B::kBits>::narrow_log2), e);
  return select((x > 0.0) & (x < infinity), y, select(x == 0.0, -infinity, x));
}

// 2^x, which becomes 0 or infinite as a float of 32 bits where that must be.
template <class B>
Real<B> exp2OfNarrow(Real<B> x) {
  x = max(-170.0, min(150.0, x));
  Real<B> shifted = x + Format<B>::kShifter;
  Real<B> r = x - (shifted - Format<B>::kShifter);
  return fma(r, polynomial(r, Coefficients<B::kBits>::narrow_exp2), 1.0) *
         powerOfTwo(shifted.bits());
}

template <class B>
Real<B> powOfNarrow(Real<B> x, Real<B> y) {
  using F = Format<B>;
  Real<B> size = abs(x), zero = x.same(0.0);
  Mask<B> integer = trunc(y) == y;
  Real<B> half = y * 0.5;
  Mask<B> odd = integer & (trunc(half) != half);
  Mask<B> one = (x == 1.0) | (y == 0.0);
  Mask<B> none = (x < 0.0) & (size < F::kInfinity) & !integer;
  Real<B> bounded = max(-0x1p40, min(0x1p40, y));  // infinity times log2(1) would be NaN
  Real<B> p = xorSign(exp2OfNarrow(log2OfNarrow(size) * bounded), select(odd, x, zero));
  return select(one | none, select(one, 1.0, zero.same(F::kNan)), p);
}

// Of x and y that are floats of 32 bits; so is the result once it is rounded to one.
template <MathBuilder B>
  requires(B::kBits == 64)
typename B::V powerOfNarrow(B& b, typename B::V x, typename B::V y) {
  return powOfNarrow(Real<B>{&b, x}, Real<B>{&b, y}).v;
}

}  // namespace tercel::math
