// erf_inv.
#pragma once
#include "compiler/kernel/math/log.h"

namespace tercel::math {

// Whether log(1 - x^2) is below -6 (f64: -5), or |x| >= 1.
template <class B>
Mask<B> isErfInvTail(Real<B> x) {
  constexpr double bound = Format<B>::kIsF64 ? 0.006737946999085467 : 0.0024787521766663585;
  return fma(-x, x, 1.0) < bound;
}

// s + s P((s - c) / (s + d)) with s = sqrt(-log(1 - x^2)).
template <class B>
Real<B> erfInvTail(Real<B> x, Real<B> log) {
  using F = Format<B>;
  constexpr double c = F::kIsF64 ? 3.86 : 3.1, d = F::kIsF64 ? 3 : 2;
  Real<B> s = sqrt(-log), size = abs(x);
  Real<B> y = fma(s, polynomial((s - c) / (s + d), Coefficients<B::kBits>::erf_inv_tail), s);
  y = select(size == 1.0, F::kInfinity, y);
  return select(size > 1.0, F::kNan, xorSign(y, x));
}

// x + x P(log(1 - x^2)).
template <class B>
Real<B> erfInv(Real<B> x) {
  auto [m, e, power] = reduceLog(fma(-x, x, 1.0), false);
  Real<B> log = logSum(e, m - 1.0);
  Real<B> y = orSignOf(fma(x, polynomial(log, Coefficients<B::kBits>::erf_inv), x), x);
  return rarely("erf_inv_tail", isErfInvTail(x), [](Real<B> inner, Real<B> v, Real<B> l) {
    return select(isErfInvTail(v), erfInvTail(v, l), inner);
  }, y, x, log);
}

template <MathBuilder B>
typename B::V erf_inv(B& b, typename B::V x) {
  return erfInv(Real<B>{&b, x}).v;
}

}  // namespace tercel::math
