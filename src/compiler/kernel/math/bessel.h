// bessel_i0e, bessel_i1e: e^-|x| times the modified Bessel functions I0 and I1. Polynomials in x^2,
// all of whose terms are positive, up to a bound; in 1/|x| beyond.
#pragma once
#include "compiler/kernel/math/coefficients.h"
#include "compiler/kernel/math/exponential.h"
#include "compiler/kernel/math/expr.h"
#include "compiler/kernel/math/power.h"

namespace tercel::math {

inline constexpr double kLargeBessel = 8;

// y (1 + more) e^x for x up to 0, not too far below, and small `more`.
template <class B>
Real<B> timesExp(Real<B> y, Real<B> more, Real<B> x) {
  auto [shifted, k, r] = reduceExp(x);
  Real<B> q = fma(r, fma(polynomial(r, Coefficients<B::kBits>::exp), r, 1.0), more);
  return scaleByPower(fma(y, q, y), shifted, k);
}

// p(1/x) / sqrt(x), x >= 0
template <class B, size_t n>
Real<B> besselTail(Real<B> x, const std::array<double, n>& p) {
  Real<B> s = 1.0 / sqrt(x);
  return s * polynomial(s * s, p);
}

// What x^2's rounding is multiplied by in the polynomials' relative errors is given roughly, by a
// parabola.
template <class B>
Real<B> i0e(Real<B> x) {
  using C = Coefficients<B::kBits>;
  Real<B> size = abs(x), small = min(kLargeBessel, size);
  auto [z, z_lo] = product(small, small);
  Real<B> more = z_lo * fma(fma(small, 0.003, -0.0475), small, 0.25);
  Real<B> inner = timesExp(fma(z, polynomial(z, C::bessel_i0), 1.0), more, -small);
  return select(size > kLargeBessel, besselTail(size, C::bessel_i0_tail), inner);
}

template <class B>
Real<B> i1e(Real<B> x) {
  using C = Coefficients<B::kBits>;
  Real<B> size = abs(x), small = min(kLargeBessel, size), half = 0.5 * small;
  auto [z, z_lo] = product(small, small);
  Real<B> more = z_lo * fma(fma(small, 0.0004, -0.0124), small, 0.125);
  Real<B> inner = timesExp(fma(half * z, polynomial(z, C::bessel_i1), half), more, -small);
  return xorSign(select(size > kLargeBessel, besselTail(size, C::bessel_i1_tail), inner), x);
}

template <MathBuilder B>
typename B::V bessel_i0e(B& b, typename B::V x) {
  return i0e(Real<B>{&b, x}).v;
}

template <MathBuilder B>
typename B::V bessel_i1e(B& b, typename B::V x) {
  return i1e(Real<B>{&b, x}).v;
}

}  // namespace tercel::math
