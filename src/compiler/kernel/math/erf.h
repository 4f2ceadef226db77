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
    Real<B> size = min(3.93, abs(x));
    Real<B> inner = fma(size, polynomial(size * size, C::erf_small), size);
    Real<B> p = polynomial(size, C::erf_tail);
    Real<B> p2 = p * p, p4 = p2 * p2;
    return xorSign(select(size < 1.25, inner, fma(-p4, p4, 1.0)), x);
  }
}

template <MathBuilder B>
typename B::V erf(B& b, typename B::V x) {
  return erf(Real<B>{&b, x}).v;
}

}  // namespace tercel::math
