// sinh, cosh, tanh and their inverses.
#pragma once
#include "compiler/kernel/math/exponential.h"
#include "compiler/kernel/math/log.h"

namespace tercel::math {

// With |x| = k ln2 + r: sinh x = C (a - b) + S (a + b) and cosh x = C (a + b) + S (a - b), where
// S = sinh r, C = cosh r, a = 2^(k - 1), b = 2^(-k - 1). Here a and b are half of that, c is C - 1.
template <class B>
struct HyperbolicParts {
  Real<B> s, c, a, b;
};

template <class B>
HyperbolicParts<B> hyperbolicParts(Real<B> x) {
  using F = Format<B>;
  using C = Coefficients<B::kBits>;
  constexpr double beyond = F::kIsF64 ? 710.6 : 89.6;  // infinite from here on
  constexpr double b_gone = F::kIsF64 ? 1000 : 110;    // 2^-k does not show beside 2^k
  auto [shifted, k, r] = reduceExp(min(beyond, abs(x)));
  Real<B> z = r * r;
  Real<B> s = fma(r * z, polynomial(z, C::sinh_part), r);
  Real<B> c = fma(z * z, polynomial(z, C::cosh_part), z * 0.5);
  const int64_t quarter = F::bitsOf(0.25);
  Bits<B> n = shifted.bits().shl(F::kMantissa);
  Real<B> small_k = min(F::kShifter + b_gone, shifted);
  return {s, c, fromBits(n + quarter), fromBits(quarter - small_k.bits().shl(F::kMantissa))};
}

template <class B>
Real<B> sinh(Real<B> x) {
  auto [s, c, a, b] = hyperbolicParts(x);
  Real<B> difference = a - b;
  Real<B> y = difference + fma(c, difference, s * (a + b));
  return select(abs(x) < Format<B>::kTiny, x, xorSign(y + y, x));
}

template <class B>
Real<B> cosh(Real<B> x) {
  auto [s, c, a, b] = hyperbolicParts(x);
  Real<B> sum = a + b;
  Real<B> y = sum + fma(c, sum, s * (a - b));
  return y + y;
}

// The coefficients of (e^2r - 1 - 2 r) / (2 r^2).
template <class B>
constexpr auto expAtDouble() {
  auto c = Coefficients<B::kBits>::exp;
  for (size_t i = 0; i < c.size(); ++i) c[i] *= static_cast<double>(2ull << i);
  return c;
}

template <class B>
Real<B> tanh(Real<B> x) {
  using F = Format<B>;
  constexpr double ln2 = 0.69314718055994530942;
  // y / (y + 1) with y = (e^2x - 1) / 2; from the bound on it rounds to 1.
  Real<B> size = min(F::kIsF64 ? 20.0 : 10.0, abs(x));
  // 2 |x| = k ln2 + 2 r; where k is large, an error of r does not show.
  Real<B> shifted = fma(size, 2 / ln2, F::kShifter);
  Real<B> r = fma(shifted - F::kShifter, -ln2 / 2, size);
  Real<B> p = fma(r * r, polynomial(r, expAtDouble<B>()), r);  // (e^2r - 1) / 2
  Real<B> power = powerOfTwo(shifted.bits());
  Real<B> y = fma(power, p, fma(power, 0.5, -0.5));
  return xorSign(y / (y + 1.0), x);
}

// log(x + sqrt(x^2 + c)) for x so large that c does not show.
template <class B>
inline constexpr double kLargeInverse = Format<B>::kIsF64 ? 0x1p60 : 0x1p30;

// log1p(t), plus ln2 where `twice`: log(2 t) for large t.
template <class B>
Real<B> log1pOrLogTwice(Real<B> t, Mask<B> twice) {
  Real<B> y = log1p(t);
  return select(twice, y + Coefficients<B::kBits>::ln2[0], y);
}

template <class B>
Real<B> asinh(Real<B> x) {
  Real<B> size = abs(x);
  Mask<B> large = size > kLargeInverse<B>;
  Real<B> z = size * size;
  // sqrt(1 + z) - 1 = z / (1 + sqrt(1 + z))
  Real<B> t = size + z / (1.0 + sqrt(z + 1.0));
  return xorSign(log1pOrLogTwice(select(large, size, t), large), x);
}

template <class B>
Real<B> acosh(Real<B> x) {
  Mask<B> large = x > kLargeInverse<B>;
  Real<B> d = x - 1.0;
  Real<B> t = d + sqrt(fma(d, d, d + d));
  Real<B> y = log1pOrLogTwice(select(large, x, t), large);
  return select(x < 1.0, Format<B>::kNan, y);
}

template <class B>
Real<B> atanh(Real<B> x) {
  Real<B> size = abs(x);
  Real<B> y = 0.5 * log1p((size + size) / (1.0 - size));
  return select(size < Format<B>::kTiny, x, xorSign(y, x));
}

template <MathBuilder B>
typename B::V sinh(B& b, typename B::V x) {
  return sinh(Real<B>{&b, x}).v;
}

template <MathBuilder B>
typename B::V cosh(B& b, typename B::V x) {
  return cosh(Real<B>{&b, x}).v;
}

template <MathBuilder B>
typename B::V tanh(B& b, typename B::V x) {
  return tanh(Real<B>{&b, x}).v;
}

template <MathBuilder B>
typename B::V asinh(B& b, typename B::V x) {
  return asinh(Real<B>{&b, x}).v;
}

template <MathBuilder B>
typename B::V acosh(B& b, typename B::V x) {
  return acosh(Real<B>{&b, x}).v;
}

template <MathBuilder B>
typename B::V atanh(B& b, typename B::V x) {
  return atanh(Real<B>{&b, x}).v;
}

}  // namespace tercel::math
