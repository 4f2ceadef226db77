// remainder: fmod, exact for any magnitudes.
#pragma once
#include "compiler/kernel/math/expr.h"

namespace tercel::math {

// Each step takes off a multiple of y (or of y 2^step, y 2^(2 step), where the quotient by y could
// overflow). The quotient's rounding error leaves at most half of its last bit, times y: that
// difference is exact, and the magnitude falls by at least 2^kMantissa.
template <class B>
Real<B> fmod(Real<B> x, Real<B> y) {
  constexpr bool f64 = Format<B>::kIsF64;
  constexpr double step = f64 ? 0x1p700 : 0x1p78;
  constexpr int bound = f64 ? 46 : 17;
  Real<B> divisor = abs(y);
  Real<B> larger = divisor * step, largest = larger * step;
  B& b = *x.b;
  auto goes_on = [&](typename B::V v) { return (abs(Real<B>{&b, v}) >= divisor).m; };
  auto reduce = [&](typename B::V v) {
    Real<B> rest{&b, v};
    Real<B> size = abs(rest);
    Real<B> d = select(size >= largest, largest, select(size >= larger, larger, divisor));
    return fma(-trunc(rest / d), d, rest).v;
  };
  Real<B> rest{&b, repeatWhile(b, bound, abs(x).v, goes_on, reduce)};
  rest = select(rest < 0.0, rest + divisor, rest);
  return select(isNan(y), y, xorSign(abs(rest), x));
}

template <MathBuilder B>
typename B::V remainder(B& b, typename B::V x, typename B::V y) {
  return fmod(Real<B>{&b, x}, Real<B>{&b, y}).v;
}

}  // namespace tercel::math
