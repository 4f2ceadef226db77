// lgamma, digamma: polynomials around their zeros, Stirling's series beyond, and the reflection
// formulas where x < 0.
#pragma once
#include "compiler/kernel/math/coefficients.h"
#include "compiler/kernel/math/expr.h"
#include "compiler/kernel/math/log.h"
#include "compiler/kernel/math/power.h"

namespace tercel::math {

// log(x) for positive normal x, to some bits more than a float has; lo is up to 1/20.
template <class B>
Pair<B> logPair(Real<B> x) {
  using C = Coefficients<B::kBits>;
  auto [m, e, power] = reduceLog(x, false);
  Real<B> f = m - 1.0;
  auto [f2, f2_lo] = product(f, f);
  Real<B> small = fma(f * f2, polynomial(f, C::log_pair), fma(f2_lo, -0.5, e * C::short_ln2[1]));
  Pair<B> linear = fastSum(e * C::short_ln2[0], f);
  auto [hi, lo] = fastSum(linear.hi, f2 * -0.5);
  return {hi, (lo + linear.lo) + small};
}

// From here on x log(x) may overflow, and log gamma(x) is x (log(x) - 1).
template <class B>
inline constexpr double kLargeGamma = Format<B>::kIsF64 ? 1e305 : 1e36;

// log gamma(x) for positive normal x < kLargeGamma, in two parts as logPair's. With g(u) for
// log gamma(2 + u): below 5/2 it is g(x) - log(x (x + 1)), g(x - 1) - log(x), or g(x - 2).
template <class B>
Pair<B> lgammaPair(Real<B> x) {
  using C = Coefficients<B::kBits>;
  Mask<B> low = x < 0.5, has_log = x < 1.5, large = x >= 2.5;
  Real<B> u = x - select(low, 0.0, select(has_log, 1.0, x.same(2.0)));
  Real<B> near = u * fma(u, polynomial(u, C::lgamma_near_two), C::one_minus_euler[1]);
  Real<B> r = 1.0 / x;
  Real<B> tail = fma(r, polynomial(r * r, C::lgamma_tail), C::short_half_log_two_pi[1]);

  Pair<B> log = logPair(select(low, fma(x, x, x), x));
  Real<B> factor = select(large, x - 0.5, select(has_log, -1.0, x.same(0.0)));
  Real<B> base = select(large, C::short_half_log_two_pi[0] - x, u * C::one_minus_euler[0]);
  Pair<B> term = product(factor, log.hi);
  auto [hi, lo] = fastSum(term.hi, base);
  return {hi, lo + (fma(factor, log.lo, term.lo) + select(large, tail, near))};
}

template <class B>
Real<B> fromInteger(Real<B> x) {  // x >= 0, less the integer below it; NaN for infinity
  return x - trunc(x);
}

// The distance to the nearest integer.
template <class B>
Real<B> foldedFraction(Real<B> fraction) {
  return select(fraction > 0.5, 1.0 - fraction, fraction);
}

// sin(pi d) / (pi d), |d| <= 1/2
template <class B>
Pair<B> sinPiRatio(Real<B> d) {
  using C = Coefficients<B::kBits>;
  constexpr auto sixth = C::sixth_of_pi_squared;
  Pair<B> z = product(d, d), linear = product(z.hi, z.hi.same(sixth[0]));
  Real<B> lo = fma(z.lo, sixth[0], fma(z.hi, sixth[1], linear.lo));
  Real<B> rest = fma(z.hi * z.hi, polynomial(z.hi, C::sin_pi), -lo);
  Pair<B> sum = fastSum(z.hi.same(1.0), -linear.hi);
  return fastSum(sum.hi, sum.lo + rest);
}

// log gamma(-t) for t near one of its zeros.
template <class B>
Real<B> lgammaNearZero(Real<B> t) {
  constexpr auto& zeros = Coefficients<32>::lgamma_zeros;
  std::array<Real<B>, 8> c = {t, t, t, t, t, t, t, t};
  for (size_t k = 0; k < 8; ++k) c[k] = t.same(zeros[0][k]);
  for (size_t i = 1; i < zeros.size(); ++i) {
    Mask<B> beyond = t > 0.5 * (zeros[i - 1][0] + zeros[i][0]);
    for (size_t k = 0; k < 8; ++k) c[k] = select(beyond, zeros[i][k], c[k]);
  }
  Real<B> e = (t - c[0]) - c[1], p = c[7];
  for (size_t k = 6; k >= 2; --k) p = fma(p, e, c[k]);
  return e * p;
}

// log gamma(-t) = -log(t sin(pi t) / pi) - log gamma(t); d is t's distance to an integer, not 0.
template <class B>
Real<B> lgammaReflected(Real<B> t, Real<B> d) {
  Pair<B> sine = product(product(t, d), sinPiRatio(d));
  Pair<B> log = logPair(sine.hi), other = lgammaPair(t);
  auto [hi, lo] = twoSum(log.hi, other.hi);
  Real<B> y = -(hi + (lo + (other.lo + (log.lo + sine.lo / sine.hi))));
  if constexpr (Format<B>::kIsF64) {
    return y;
  } else {
    Real<B> small = select(t < 3.0, 0.0625, t.same(0.125));
    Mask<B> near_zero = (abs(y) < small) & (t > 2.0) & (t < 9.5);
    return select(near_zero, lgammaNearZero(t), y);
  }
}

// For x that is not positive and normal, or large.
template <class B>
Real<B> lgammaSpecial(Real<B> x) {
  using F = Format<B>;
  Real<B> t = abs(x);
  Real<B> d = foldedFraction(fromInteger(t));
  auto [m, e, power] = reduceLog(t, true);
  Real<B> log = logSum(e, m - 1.0);
  Real<B> outer = select(t < 1.0, -log, t * (log - 1.0));
  Mask<B> negative = (x < 0.0) & (t > F::kTiny);
  Mask<B> infinite = (x == 0.0) | (negative & (d == 0.0)) | (t == F::kInfinity);
  return select(infinite, F::kInfinity, select(negative, lgammaReflected(t, d), outer));
}

template <class B>
Real<B> lgamma(Real<B> x) {
  auto [hi, lo] = lgammaPair(x);
  return rarely("lgamma_special", !isPositiveNormalBelow(x, kLargeGamma<B>),
                [](Real<B> y, Real<B> v) {
                  Mask<B> ordinary = isPositiveNormalBelow(v, kLargeGamma<B>);
                  return select(ordinary, y, lgammaSpecial(v));
                }, hi + lo, x);
}

// digamma(x) for positive finite x; or digamma(1 + x), which is 1/x more.
template <bool of_next, class B>
Real<B> digammaPositive(Real<B> x) {
  using C = Coefficients<B::kBits>;
  constexpr double more = of_next ? 1 : 0;
  Mask<B> low = x < 1.0, large = x >= 2.0;
  Real<B> d = (select(low, x, x - 1.0) - C::digamma_zero[0]) - C::digamma_zero[1];
  Real<B> near = d * polynomial(d, C::digamma_near_zero);
  Real<B> r = 1.0 / x;
  Real<B> z = r * r;
  Pair<B> log = logPair(x);
  Real<B> rest = select(large, fma(-z, polynomial(z, C::digamma_tail), log.lo), near);
  Real<B> factor = select(large, more - 0.5, select(low, more - 1, x.same(more)));
  if (of_next) r = select(low, 0.0, r);
  return select(large, log.hi, 0.0) + fma(factor, r, rest);
}

// sin(pi d) / pi, |d| <= 1/2
template <class B>
Pair<B> sinPiOverPi(Real<B> d) {
  return product(Pair<B>{d, d.same(0.0)}, sinPiRatio(d));
}

// digamma(-t) = digamma(1 + t) + pi / tan(pi t); NaN for an integer.
template <class B>
Real<B> digammaReflected(Real<B> t) {
  using C = Coefficients<B::kBits>;
  Real<B> fraction = fromInteger(t), d = foldedFraction(fraction);
  Pair<B> cosine = product(Pair<B>{t.same(C::pi[0]), t.same(C::pi[1])}, sinPiOverPi(0.5 - d));
  Pair<B> sine = sinPiOverPi(d);
  Real<B> hi = cosine.hi / sine.hi;
  Real<B> lo = (fma(-hi, sine.hi, cosine.hi) + fma(-hi, sine.lo, cosine.lo)) / sine.hi;
  Real<B> side = 0.5 - fraction;
  Real<B> y = (digammaPositive<true>(t) + xorSign(lo, side)) + xorSign(hi, side);
  return select(d == 0.0, Format<B>::kNan, select(t < Format<B>::kTiny, 1.0 / t, y));
}

template <class B>
Real<B> digamma(Real<B> x) {
  return rarely("digamma_special", !isPositiveNormal(x), [](Real<B> y, Real<B> v) {
    Real<B> positive = select(v < Format<B>::kInfinity, y, v);
    return select(v > 0.0, positive, digammaReflected(abs(v)));
  }, digammaPositive<false>(x), x);
}

template <MathBuilder B>
typename B::V lgamma(B& b, typename B::V x) {
  return lgamma(Real<B>{&b, x}).v;
}

template <MathBuilder B>
typename B::V digamma(B& b, typename B::V x) {
  return digamma(Real<B>{&b, x}).v;
}

}  // namespace tercel::math
