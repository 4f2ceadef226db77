// erf.
#pragma once
#include "compiler/kernel/math/coefficients.h"
#include "compiler/kernel/math/expr.h"

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

template <MathBuilder B>
typename B::V erf(B& b, typename B::V x) {
  return erf(Real<B>{&b, x}).v;
}

}  // namespace tercel::math
