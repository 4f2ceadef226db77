// sqrt, rsqrt, cbrt.
#pragma once
#include "compiler/kernel/math/coefficients.h"
#include "compiler/kernel/math/expr.h"

namespace tercel::math {

// Newton's steps to all bits but the last, of 0 and infinity without.
template <class B>
Real<B> refinedRsqrt(Real<B> x, Real<B> about) {
  Real<B> y = about, rest = y;
  for (int step = 0; step < (Format<B>::kIsF64 ? 2 : 1); ++step) {
    rest = fma(-(x * y), y, 1.0);
    y = fma(y * 0.5, rest, y);
  }
  return select(isNan(rest), about, y);
}

template <class B>
Real<B> rsqrt(Real<B> x) {
  if constexpr (requires { x.b->hasRsqrt14(); })
    if (x.b->hasRsqrt14()) return refinedRsqrt(x, Real<B>{x.b, x.b->rsqrt14(x.v)});
  return 1.0 / sqrt(x);
}

template <class B>
Real<B> cbrt(Real<B> x) {
  using F = Format<B>;
  using C = Coefficients<B::kBits>;
  constexpr int lift = F::kIsF64 ? 54 : 24;  // a multiple of 3
  Real<B> size = abs(x);
  Mask<B> subnormal = size < F::kMinNormal;
  Real<B> normal = select(subnormal, size * (F::kIsF64 ? 0x1p54 : 0x1p24), size);
  // |x| = m 2^(3 q), m in [3/8, 3)
  Bits<B> n = (normal.bits() - F::bitsOf(0.75)).ashr(F::kMantissa);
  Bits<B> q = fma(fromSmallInt(n), 1.0 / 3, F::kShifter).bits() - F::kShifterBits;
  Real<B> m = fromBits(normal.bits() - (q + q.shl(1)).shl(F::kMantissa));
  Real<B> y = polynomial(m, C::rcbrt);  // m^(-1/3) roughly, then to nearly all bits
  Real<B> h = fma(-(m * y), y * y, 1.0);
  Real<B> series =
      F::kIsF64 ? fma(fma(h, 14.0 / 81, 2.0 / 9), h, 1.0 / 3) : fma(h, 2.0 / 9, 1.0 / 3);
  y = fma(y * h, series, y);
  Real<B> y2 = y * y;
  Real<B> r = m * y2;
  Real<B> r2 = r * r;
  Real<B> rest = fma(-r2, r, m) - fma(r, r, -r2) * r;  // m - r^3
  r = fma(rest * y2, 1.0 / 3, r);
  q = select(subnormal, q - lift / 3, q);
  Real<B> root = fromBits(r.bits() + q.shl(F::kMantissa));
  Mask<B> keep = (x == 0.0) | !(size < F::kInfinity);
  return select(keep, x, xorSign(root, x));
}

template <MathBuilder B>
typename B::V sqrt(B& b, typename B::V x) {
  return b.sqrt(x);
}

template <MathBuilder B>
typename B::V rsqrt(B& b, typename B::V x) {
  return rsqrt(Real<B>{&b, x}).v;
}

template <MathBuilder B>
typename B::V cbrt(B& b, typename B::V x) {
  return cbrt(Real<B>{&b, x}).v;
}

}  // namespace tercel::math
