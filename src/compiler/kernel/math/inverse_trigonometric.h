// atan, atan2, asin, acos.
#pragma once
#include "compiler/kernel/math/coefficients.h"
#include "compiler/kernel/math/expr.h"

namespace tercel::math {

template <class B>
Real<B> atanUnit(Real<B> t) {  // t in [0, 1]
  Real<B> z = t * t;
  return fma(t * z, polynomial(z, Coefficients<B::kBits>::atan), t);
}

// base + y, where base is 0, pi/2 or pi rounded down: the rest of it, which is proportional, is
// added to y first.
template <class B>
Real<B> addToAngle(Real<B> base, Real<B> y) {
  using C = Coefficients<B::kBits>;
  return base + fma(base, C::half_pi[1] / C::half_pi[0], y);
}

template <class B>
Real<B> atan(Real<B> x) {
  using C = Coefficients<B::kBits>;
  Real<B> size = abs(x);
  Mask<B> swapped = size > 1.0;
  Real<B> y = atanUnit(select(swapped, 1.0 / size, size));
  Real<B> turned = x.same(C::half_pi[0]) + (C::half_pi[1] - y);
  return xorSign(select(swapped, turned, y), x);
}

template <class B>
Real<B> atan2(Real<B> y, Real<B> x) {
  using C = Coefficients<B::kBits>;
  using F = Format<B>;
  Real<B> ax = abs(x), ay = abs(y);
  Mask<B> swapped = ay > ax;
  Mask<B> left = x.bits() < 0;
  Real<B> n = select(swapped, ax, ay), d = select(swapped, ay, ax);
  Real<B> t = n / d;
  t = select(d == 0.0, d, select(n == F::kInfinity, 1.0, t));
  Real<B> a = atanUnit(t);
  // swapped and left add up to +a.
  Bits<B> zero = x.bits().same(0), flip = x.bits().same(F::kSign);
  a = fromBits(a.bits() ^ select(swapped, flip, zero) ^ select(left, flip, zero));
  Real<B> base = select(swapped, C::half_pi[0], select(left, x.same(2 * C::half_pi[0]), 0.0));
  Real<B> angle = xorSign(addToAngle(base, a), y);
  return select(isNan(x) | isNan(y), x + y, angle);
}

// asin(t) = t + t z P(z); `z` is t^2.
template <class B>
Real<B> asinSmall(Real<B> t, Real<B> z) {
  return fma(t * z, polynomial(z, Coefficients<B::kBits>::asin), t);
}

// cos 1/2: beyond it the doubled term is small enough to lose nothing.
inline constexpr double kAsinSplit = 0.5403;

template <class B>
Real<B> asin(Real<B> x) {
  using C = Coefficients<B::kBits>;
  Real<B> size = abs(x);
  Mask<B> outer = size > kAsinSplit;
  // asin x = pi/2 - 2 asin sqrt((1 - x) / 2)
  Real<B> z = select(outer, fma(size, -0.5, 0.5), x * x);
  Real<B> y = asinSmall(select(outer, sqrt(z), size), z);
  Real<B> turned = x.same(C::half_pi[0]) - fma(y, 2.0, -C::half_pi[1]);
  return xorSign(select(outer, turned, y), x);
}

template <class B>
Real<B> acos(Real<B> x) {
  using C = Coefficients<B::kBits>;
  Real<B> size = abs(x);
  Mask<B> outer = size > kAsinSplit;
  Real<B> z = select(outer, fma(size, -0.5, 0.5), x * x);
  Real<B> y = asinSmall(select(outer, sqrt(z), size), z);
  Real<B> signed_y = xorSign(y, x);
  // Inside pi/2 - asin x; outside 2 asin sqrt((1 - x) / 2), or pi minus that for negative x.
  Real<B> base = select(outer, select(x < 0.0, x.same(2 * C::half_pi[0]), 0.0), C::half_pi[0]);
  return addToAngle(base, select(outer, signed_y + signed_y, -signed_y));
}

template <MathBuilder B>
typename B::V atan(B& b, typename B::V x) {
  return atan(Real<B>{&b, x}).v;
}

template <MathBuilder B>
typename B::V atan2(B& b, typename B::V y, typename B::V x) {
  return atan2(Real<B>{&b, y}, Real<B>{&b, x}).v;
}

template <MathBuilder B>
typename B::V asin(B& b, typename B::V x) {
  return asin(Real<B>{&b, x}).v;
}

template <MathBuilder B>
typename B::V acos(B& b, typename B::V x) {
  return acos(Real<B>{&b, x}).v;
}

}  // namespace tercel::math
