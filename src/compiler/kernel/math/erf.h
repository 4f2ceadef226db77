// erf, erfc.
#pragma once
#include "compiler/kernel/math/exponential.h"

namespace tercel::math {

template <class B>
Real<B> erf(Real<B> x) {
  using C = Coefficients<B::kBits>;
  constexpr double one = Format<B>::kIsF64 ? 5.95 : 3.93;  // from there on it rounds to 1
  Real<B> size = min(one, abs(x));
  Real<B> inner = fma(size, polynomial(size * size, C::erf_small), size);
  Real<B> p = polynomial(size, C::erf_tail);
  Real<B> p2 = p * p, p4 = p2 * p2;
  return xorSign(select(size < 1.25, inner, fma(-p4, p4, 1.0)), x);
}

// For x from kLow; above kHigh erfc rounds to 0, where -x^2 is below kSubnormal it is subnormal.
template <class B>
struct ErfcTail {
  static constexpr double kLow = Format<B>::kIsF64 ? 0.85 : 0.65;
  static constexpr double kHigh = Format<B>::kIsF64 ? 27.3 : 10.07;
  static constexpr double kSubnormal = Format<B>::kIsF64 ? -704.5446 : -84.5398;
  static constexpr double kMiddle = Format<B>::kIsF64 ? 2.25 : 1.5;
  static constexpr double kScale = Format<B>::kIsF64 ? 1.0398926642867634 : 0.96475625;
};

// e^-x^2 s / (x + m) (1 + u P(u)), u = s (x - m) / (x + m), where m is kMiddle, s kScale and
// `square` x^2. What is added to 1 is small, and so are its rounding errors.
template <class B>
Real<B> erfcTail(Real<B> x, Real<B> square) {
  using T = ErfcTail<B>;
  Real<B> inverse = T::kScale / (x + T::kMiddle);
  Real<B> lost = fma(-inverse, T::kMiddle, fma(-inverse, x, T::kScale));  // as inverse rounded
  Real<B> u = (x - T::kMiddle) * inverse;
  u = fma(u, lost, u);
  Real<B> q = fma(u * inverse, polynomial(u, Coefficients<B::kBits>::erfc_tail), inverse);
  Real<B> minus = -square;
  auto [shifted, k, r] = reduceExp(minus, fma(x, x, minus));
  return scaleByPower(timesExpOfReduced(q, r, lost), shifted, k, minus, T::kSubnormal);
}

template <class B>
Real<B> erfc(Real<B> x) {
  Real<B> size = min(ErfcTail<B>::kHigh, abs(x));
  Real<B> square = size * size;
  Real<B> p = polynomial(square, Coefficients<B::kBits>::erfc_small);
  Real<B> inner = fma(size, p, 1.0 - size);
  Real<B> y = select(size < ErfcTail<B>::kLow, inner, erfcTail(size, square));
  return select(x < 0.0, 2.0 - y, y);
}

template <MathBuilder B>
typename B::V erf(B& b, typename B::V x) {
  return erf(Real<B>{&b, x}).v;
}

template <MathBuilder B>
typename B::V erfc(B& b, typename B::V x) {
  return erfc(Real<B>{&b, x}).v;
}

}  // namespace tercel::math
