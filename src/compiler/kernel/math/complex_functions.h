// Complex atan2, atanh, cbrt, cosh, cosine, exponential, exponential_minus_one, log, log_plus_one,
// logistic, power, sine, sinh, tan, tanh. Special values are C99's (annex G), but where it recovers an infinity
// or a zero from a NaN in exponential, tan, tanh and power: there they are XLA's, which does not.
#pragma once
#include "compiler/kernel/math/complex.h"
#include "compiler/kernel/math/hyperbolic.h"
#include "compiler/kernel/math/inverse_trigonometric.h"
#include "compiler/kernel/math/power.h"
#include "compiler/kernel/math/trigonometric.h"

namespace tercel::math {

// Beyond it e^x times any sine or cosine but 0 is infinite.
template <class B>
inline constexpr double kScaledExpHigh = Format<B>::kIsF64 ? 1460 : 193;

// scaleByPower for powers up to four times the largest: a small p comes back from as far.
template <class B>
Real<B> scaleFar(Real<B> p, Real<B> shifted, Real<B> k) {
  if (hasScalb(*p.b)) return scaleByPower(p, shifted, k);
  Bits<B> power = shifted.bits() - Format<B>::kShifterBits, half = power.ashr(1);
  return scaleByPower(scaleByPower(p, half), power - half);
}

template <class B>
Complex<B> exp(Complex<B> z) {
  constexpr double low = -kScaledExpHigh<B>, high = kScaledExpHigh<B>;
  auto [shifted, k, r] = reduceExp(max(low, min(high, z.re)));
  Real<B> size = expOfReduced(r);
  // The power of two comes last: e^x may overflow where its product with a sine does not.
  Real<B> re = scaleFar(size * cos(z.im), shifted, k);
  Real<B> im = scaleFar(size * sin(z.im), shifted, k);
  return {re, select(z.im == 0.0, z.im, im)};
}

// log|z|, where `t` is |z|^2 - 1 to full precision if that is small.
template <class B>
Real<B> logMagnitude(Complex<B> z, Real<B> t) {
  using F = Format<B>;
  constexpr double ln2 = 0.69314718055994530942;
  ScaledComplex<B> scaled(z);
  Mask<B> infinite = isInfinite(z.re) | isInfinite(z.im);
  Real<B> norm = select(infinite, F::kInfinity, scaled.norm());
  Mask<B> near = (t > -0.25) & (t < 0.5);
  auto [m, e, power] = reduceLog(norm, false);
  Real<B> y = logSum(select(near, 0.0, e), select(near, t, m - 1.0));
  Real<B> shift = scaled.choose(scaled.kDown * ln2, -scaled.kUp * ln2, 0.0);
  return fma(logSpecial(norm, y), 0.5, shift);
}

template <class B>
Complex<B> log(Complex<B> z) {
  Real<B> ax = abs(z.re), ay = abs(z.im);
  Pair<B> larger = product(max(ax, ay), max(ax, ay)), smaller = product(min(ax, ay), min(ax, ay));
  auto [hi, lo] = twoSum(larger.hi - 1.0, smaller.hi);
  Real<B> t = hi + (lo + (larger.lo + smaller.lo));
  return {logMagnitude(z, t), atan2(z.im, z.re)};
}

template <class B>
Complex<B> log1p(Complex<B> z) {
  Complex<B> u(z.re + 1.0, z.im);
  // |1 + z|^2 - 1 = 2 x + x^2 + y^2
  Pair<B> x2 = product(z.re, z.re), y2 = product(z.im, z.im);
  auto [a, a_lo] = twoSum(z.re + z.re, y2.hi);
  auto [b, b_lo] = twoSum(a, x2.hi);
  Real<B> t = b + ((a_lo + b_lo) + (x2.lo + y2.lo));
  return {logMagnitude(u, t), atan2(u.im, u.re)};
}

template <class B>
Complex<B> expm1(Complex<B> z) {
  Complex<B> e = exp(z);
  // e^x cos y - 1 = (e^x - 1) cos y - 2 sin^2(y / 2)
  Real<B> s = sin(0.5 * z.im);
  Real<B> re = fma(expm1(z.re), cos(z.im), -2.0 * s * s);
  Mask<B> apart = (z.re > 20.0) | (z.re < -1.0);
  return {select(apart, e.re - 1.0, re), e.im};
}

template <class B>
Complex<B> logistic(Complex<B> z) {
  Complex<B> e = exp(Complex<B>(-z.re, -z.im));
  return reciprocal(Complex<B>(e.re + 1.0, e.im));
}

// sinh y and cosh y as 2^k sinh and 2^k cosh, k in the low bits of `shifted`.
template <class B>
struct ScaledHyperbolic {
  Real<B> sinh, cosh, shifted, k;
};

template <class B>
ScaledHyperbolic<B> scaledHyperbolic(Real<B> y) {
  using F = Format<B>;
  using C = Coefficients<B::kBits>;
  auto [shifted, k, r] = reduceExp(min(kScaledExpHigh<B>, abs(y)));
  Real<B> z = r * r;
  Real<B> s = fma(r * z, polynomial(z, C::sinh_part), r);
  Real<B> c = fma(z * z, polynomial(z, C::cosh_part), z * 0.5);  // cosh r - 1
  Real<B> few = min(F::kShifter + 60, shifted);
  Real<B> inverse_square = fromBits(F::kOne - few.bits().shl(F::kMantissa + 1));  // 2^(-2 k)
  Real<B> difference = 1.0 - inverse_square, total = 1.0 + inverse_square;
  Real<B> sinh2 = difference + fma(c, difference, s * total);
  Real<B> cosh2 = total + fma(c, total, s * difference);
  return {xorSign(0.5 * sinh2, y), 0.5 * cosh2, shifted, k};
}

// Where one factor is 0 and the other infinite or NaN: 0 with its sign.
template <class B>
Real<B> zeroWins(Real<B> product, Real<B> factor) {
  return select(isNan(product) & (factor == 0.0), factor, product);
}

template <class B>
Complex<B> sin(Complex<B> z) {
  auto h = scaledHyperbolic(z.im);
  Real<B> re = scaleFar(sin(z.re) * h.cosh, h.shifted, h.k);
  Real<B> im = scaleFar(cos(z.re) * h.sinh, h.shifted, h.k);
  im = select(isInfinite(z.im) & !isFinite(z.re), z.im, im);
  return {zeroWins(re, z.re), zeroWins(im, z.im)};
}

template <class B>
Complex<B> cos(Complex<B> z) {
  auto h = scaledHyperbolic(z.im);
  Real<B> re = scaleFar(cos(z.re) * h.cosh, h.shifted, h.k);
  Real<B> im = scaleFar(-sin(z.re) * h.sinh, h.shifted, h.k);
  re = select(isInfinite(z.im) & !isFinite(z.re), Format<B>::kInfinity, re);
  return {re, zeroWins(zeroWins(im, z.re), z.im)};
}

// Infinitely far and without a direction: NaN in JAX, where C99 has an infinity of any sign.
template <class B>
Complex<B> unlessLost(Complex<B> z, Complex<B> value) {
  const Mask<B> lost = isInfinite(z.re) & isInfinite(z.im);
  const Real<B> nan = z.re - z.re;
  return {select(lost, nan, value.re), select(lost, nan, value.im)};
}

template <class B>
Complex<B> sinh(Complex<B> z) {  // sin(i z) = i sinh z, with the parts of each other
  Complex<B> s = sin(Complex<B>(z.im, z.re));
  return unlessLost(z, Complex<B>(s.im, s.re));
}

template <class B>
Complex<B> cosh(Complex<B> z) {  // cos(i z)
  return unlessLost(z, cos(Complex<B>(-z.im, z.re)));
}

// Beyond `far` 1 / z is all that is left but a right angle; at 1, where the divisor underflows, a
// logarithm.
template <class B>
Complex<B> atanh(Complex<B> z) {
  constexpr double far = Format<B>::kIsF64 ? 0x1p60 : 0x1p30, tiny = Format<B>::kIsF64 ? 1e-100 : 1e-10;
  constexpr double ln2 = 0.69314718055994530942, right_angle = 1.57079632679489661923;
  Real<B> x = abs(z.re), y = abs(z.im), rest = 1.0 - x;
  Mask<B> is_far = (x > far) | (y > far), at_one = (x == 1.0) & (y < tiny);
  Real<B> re = 0.25 * log1p(4.0 * x / fma(rest, rest, y * y));
  re = select(at_one, 0.5 * (ln2 - log(y)), select(x == 0.0, x, re));
  Real<B> im = 0.5 * atan2(y + y, fma(rest, x + 1.0, -(y * y)));
  re = select(is_far, abs(reciprocal(z).re), re);
  im = select(is_far & (y == y), right_angle, im);
  return {xorSign(re, z.re), xorSign(im, z.im)};
}

// Kahan's formula in t = tan y and s = sinh x; where x is large its imaginary part is
// 4 sin y cos y e^(-2 |x|).
template <class B>
Complex<B> tanh(Complex<B> z) {
  constexpr double large = Format<B>::kIsF64 ? 22 : 11;
  Real<B> size = abs(z.re);
  Real<B> t = tan(z.im), s = sinh(min(large, size));
  Real<B> beta = fma(t, t, 1.0);
  Real<B> denominator = fma(beta * s, s, 1.0);
  Real<B> re = beta * sqrt(fma(s, s, 1.0)) * s / denominator;
  Real<B> im = select(size > large, 4.0 * (t / beta) * exp(-2.0 * size), t / denominator);
  Mask<B> infinite = isInfinite(z.re);
  re = select(infinite, 1.0, re);
  im = select(infinite & isNan(im), copySign(im.same(0.0), z.im), im);
  return {xorSign(re, z.re), zeroWins(im, z.im)};
}

template <class B>
Complex<B> tan(Complex<B> z) {  // tanh(i z) = i tan z, and tanh is odd in its real part
  Complex<B> t = tanh(Complex<B>(z.im, z.re));
  return {t.im, t.re};
}

template <class B>
Complex<B> pow(Complex<B> z, Complex<B> w) {
  Complex<B> p = exp(multiply(w, log(z)));
  Mask<B> one = ((w.re == 0.0) & (w.im == 0.0)) | ((z.re == 1.0) & (z.im == 0.0));
  Mask<B> real = (z.im == 0.0) & (w.im == 0.0), infinite = real & (z.re == Format<B>::kInfinity);
  Mask<B> grows = infinite & (w.re > 0.0);
  Mask<B> vanishes = (infinite & (w.re < 0.0)) | (real & (z.re == 0.0) & (w.re > 0.0));
  Real<B> re = select(grows, Format<B>::kInfinity, select(vanishes, 0.0, p.re));
  return {select(one, 1.0, re), select(one | grows | vanishes, 0.0, p.im)};
}

template <class B>
Complex<B> cbrt(Complex<B> z) {
  Complex<B> l = log(z);
  return exp(Complex<B>(l.re / 3.0, l.im / 3.0));  // log 0 is -infinity: 0
}

// -i log((x + i y) / sqrt(x^2 + y^2))
template <class B>
Complex<B> atan2(Complex<B> y, Complex<B> x) {
  Complex<B> x2 = multiply(x, x), y2 = multiply(y, y);
  Complex<B> norm = sqrt(Complex<B>(x2.re + y2.re, x2.im + y2.im));
  Complex<B> l = log(divide(Complex<B>(x.re - y.im, x.im + y.re), norm));
  return {l.im, -l.re};
}

#define TERCEL_COMPLEX_FUNCTION(name, formula)        \
  template <MathBuilder B>                            \
  ComplexValue<B> name(B& b, ComplexValue<B> value) { \
    Complex<B> z(b, value);                           \
    return formula;                                   \
  }
TERCEL_COMPLEX_FUNCTION(atanh, atanh(z))
TERCEL_COMPLEX_FUNCTION(cbrt, cbrt(z))
TERCEL_COMPLEX_FUNCTION(cosh, cosh(z))
TERCEL_COMPLEX_FUNCTION(exponential, exp(z))
TERCEL_COMPLEX_FUNCTION(exponential_minus_one, expm1(z))
TERCEL_COMPLEX_FUNCTION(log, log(z))
TERCEL_COMPLEX_FUNCTION(log_plus_one, log1p(z))
TERCEL_COMPLEX_FUNCTION(sine, sin(z))
TERCEL_COMPLEX_FUNCTION(cosine, cos(z))
TERCEL_COMPLEX_FUNCTION(sinh, sinh(z))
TERCEL_COMPLEX_FUNCTION(tan, tan(z))
TERCEL_COMPLEX_FUNCTION(tanh, tanh(z))
TERCEL_COMPLEX_FUNCTION(logistic, logistic(z))
#undef TERCEL_COMPLEX_FUNCTION

template <MathBuilder B>
ComplexValue<B> atan2(B& b, ComplexValue<B> y, ComplexValue<B> x) {
  return atan2(Complex<B>(b, y), Complex<B>(b, x));
}

template <MathBuilder B>
ComplexValue<B> power(B& b, ComplexValue<B> z, ComplexValue<B> w) {
  return pow(Complex<B>(b, z), Complex<B>(b, w));
}

}  // namespace tercel::math
