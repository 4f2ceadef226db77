// erf.
#pragma once
#include "compiler/kernel/math/exponential.h"

namespace tercel::math {

template <class B>
Real<B> erf(Real<B> x) {
  using C = Coefficients<B::kBits>;
  if constexpr (Format<B>::kIsF64) {
    Real<B> size = min(5.95, abs(x));
    Real<B> inner = fma(size, polynomial(size * size, C::erf_small), size);
    Real<B> outer = 1.0 - expInRange(-polynomial(size, C::erf_tail));
    return xorSign(select(size < 1.0, inner, outer), x);
  } else {
    Real<B> clamped = max(-3.93, min(3.93, x));
    Real<B> z = clamped * clamped;
    return clamped * approxQuotient(polynomial(z, C::erf_p), polynomial(z, C::erf_q));
  }
}

template <MathBuilder B>
typename B::V erf(B& b, typename B::V x) {
  return erf(Real<B>{&b, x}).v;
}

}  // namespace tercel::math
