// Complex arithmetic: abs, sign, multiply, divide, sqrt, rsqrt. Special values are C99's (annex G),
// but for multiply, which is the plain formula, as XLA's and NumPy's.
#pragma once
#include "compiler/kernel/math/exponential.h"

namespace tercel::math {

template <class B>
struct ComplexValue {
  typename B::V re, im;
};

template <class B>
struct Complex {
  Real<B> re, im;
  Complex(Real<B> real, Real<B> imag) : re(real), im(imag) {}
  Complex(B& b, ComplexValue<B> z) : re{&b, z.re}, im{&b, z.im} {}
  operator ComplexValue<B>() const { return {re.v, im.v}; }
};

template <class B>
Mask<B> isInfinite(Real<B> x) {
  return abs(x) == Format<B>::kInfinity;
}

template <class B>
Mask<B> isFinite(Real<B> x) {
  return abs(x) < Format<B>::kInfinity;
}

template <class B>
Real<B> copySign(Real<B> x, Real<B> source) {
  return xorSign(abs(x), source);
}

// A complex number times the power of two that keeps its squares in range: 2^-down where it is
// large, 2^up where it is small, 1 otherwise. Both exponents are even.
template <class B>
struct ScaledComplex {
  static constexpr bool f64 = Format<B>::kIsF64;
  static constexpr int kDown = f64 ? 600 : 70, kUp = f64 ? 700 : 90;
  static constexpr double kDownScale = f64 ? 0x1p-600 : 0x1p-70;
  static constexpr double kUpScale = f64 ? 0x1p700 : 0x1p90;
  Real<B> re, im;
  Mask<B> large, small;

  explicit ScaledComplex(Complex<B> z)
      : re(z.re), im(z.im), large(isLarge(z)), small(!isAtLeastSmall(z)) {
    Real<B> scale = choose(kDownScale, kUpScale, 1.0);
    re = re * scale;
    im = im * scale;
  }
  Real<B> choose(double where_large, double where_small, double elsewhere) const {
    return select(large, where_large, select(small, where_small, re.same(elsewhere)));
  }
  Real<B> norm() const { return fma(re, re, im * im); }

 private:
  static Mask<B> isLarge(Complex<B> z) {
    constexpr double bound = f64 ? 0x1p500 : 0x1p60;
    return (abs(z.re) > bound) | (abs(z.im) > bound);
  }
  static Mask<B> isAtLeastSmall(Complex<B> z) {
    constexpr double bound = f64 ? 0x1p-400 : 0x1p-40;
    return (abs(z.re) >= bound) | (abs(z.im) >= bound);
  }
};

template <class B>
Real<B> absScaled(Complex<B> z) {
  ScaledComplex<B> scaled(z);
  Real<B> back = scaled.choose(1 / scaled.kDownScale, 1 / scaled.kUpScale, 1.0);
  Mask<B> infinite = isInfinite(z.re) | isInfinite(z.im);
  return select(infinite, Format<B>::kInfinity, sqrt(scaled.norm()) * back);
}

// Where no square was too large, nor too small beside what is seen of the sum, the root of it.
template <class B>
Real<B> abs(Complex<B> z) {
  constexpr bool f64 = Format<B>::kIsF64;
  constexpr double least = f64 ? 0x1p-799 : 0x1p-79, bound = f64 ? 0x1p1000 : 0x1p120;
  Real<B> norm = fma(z.re, z.re, z.im * z.im);
  Mask<B> usual = ((norm >= least) & (norm < bound)) | ((z.re == 0.0) & (z.im == 0.0));
  return rarely("abs", !usual,
                [](Real<B>, Real<B> re, Real<B> im) { return absScaled(Complex<B>(re, im)); },
                sqrt(norm), z.re, z.im);
}

template <class B>
Complex<B> sign(Complex<B> z) {
  ScaledComplex<B> scaled(z);
  Real<B> size = sqrt(scaled.norm());
  Mask<B> zero = size == 0.0;
  return {select(zero, z.re, scaled.re / size), select(zero, z.im, scaled.im / size)};
}

template <class B>
Complex<B> multiply(Complex<B> x, Complex<B> y) {
  return {x.re * y.re - x.im * y.im, x.re * y.im + x.im * y.re};
}

template <class B>
Real<B> largerPart(Complex<B> z) {
  return max(abs(z.re), abs(z.im));
}

// z 2^-exponent with the larger part in [1, 2); z itself where it is 0, infinite or NaN.
template <class B>
struct NormalizedComplex {
  Real<B> re, im;
  Bits<B> exponent;
};

template <class B>
NormalizedComplex<B> normalize(Complex<B> z) {
  using F = Format<B>;
  ScaledComplex<B> scaled(z);
  Real<B> size = largerPart(Complex<B>(scaled.re, scaled.im));
  size = select((size < F::kInfinity) & (size > 0.0), size, 1.0);
  Bits<B> field = size.bits().lshr(F::kMantissa);
  Real<B> factor = fromBits((2 * F::kBias - field).shl(F::kMantissa));
  Bits<B> zero = field.same(0);
  Bits<B> shift = select(scaled.large, zero.same(scaled.kDown),
                         select(scaled.small, zero.same(-scaled.kUp), zero));
  return {scaled.re * factor, scaled.im * factor, field - F::kBias + shift};
}

template <class B>
Complex<B> plainQuotient(Complex<B> x, Complex<B> y) {
  Real<B> norm = fma(y.re, y.re, y.im * y.im);
  return {(x.re * y.re + x.im * y.im) / norm, (x.im * y.re - x.re * y.im) / norm};
}

// Where the quotient's formula says nothing.
template <class B>
Mask<B> lost(Complex<B> quotient) {
  return isNan(quotient.re) & isNan(quotient.im);
}

// x / y, of which the formula makes q.
template <class B>
Complex<B> divideSpecial(Complex<B> x, Complex<B> y, Complex<B> q) {
  const double inf = Format<B>::kInfinity;
  auto direction = [](Real<B> v) { return copySign(select(isInfinite(v), v.same(1.0), 0.0), v); };
  auto dot = [](Complex<B> u, Complex<B> v, double factor) {
    return Complex<B>(factor * (u.re * v.re + u.im * v.im), factor * (u.im * v.re - u.re * v.im));
  };
  Mask<B> x_infinite = isInfinite(x.re) | isInfinite(x.im);
  Mask<B> y_infinite = isInfinite(y.re) | isInfinite(y.im);
  Complex<B> by_zero(copySign(x.re.same(inf), y.re) * x.re, copySign(x.re.same(inf), y.re) * x.im);
  Complex<B> large = dot(Complex<B>(direction(x.re), direction(x.im)), y, inf);
  Complex<B> small = dot(x, Complex<B>(direction(y.re), direction(y.im)), 0.0);
  Mask<B> use_zero = (y.re == 0.0) & (y.im == 0.0) & !(isNan(x.re) & isNan(x.im));
  Mask<B> use_large = x_infinite & isFinite(y.re) & isFinite(y.im);
  Mask<B> use_small = y_infinite & isFinite(x.re) & isFinite(x.im);
  auto pick = [&](Real<B> zero, Real<B> l, Real<B> s, Real<B> otherwise) {
    Real<B> special = select(use_zero, zero, select(use_large, l, select(use_small, s, otherwise)));
    return select(lost(q), special, otherwise);
  };
  return {pick(by_zero.re, large.re, small.re, q.re), pick(by_zero.im, large.im, small.im, q.im)};
}

// For any x and y: scaled so that the formula neither overflows nor underflows.
template <class B>
Complex<B> divideScaled(Complex<B> x, Complex<B> y) {
  NormalizedComplex<B> n = normalize(x), d = normalize(y);
  constexpr int64_t bound = Format<B>::kIsF64 ? 2000 : 250;  // scaleByPower's reach
  Bits<B> k = n.exponent - d.exponent;
  k = select(k < -bound, k.same(-bound), select(k < bound, k, k.same(bound)));
  Complex<B> q = plainQuotient(Complex<B>(n.re, n.im), Complex<B>(d.re, d.im));
  return divideSpecial(x, y, Complex<B>(scaleByPower(q.re, k), scaleByPower(q.im, k)));
}

// Whether divideUsual() is right for x and y: nothing overflows, and what underflows is too small to
// be seen.
template <class B>
Mask<B> isUsual(Complex<B> x, Complex<B> y) {
  constexpr double bound = Format<B>::kIsF64 ? 0x1p400 : 0x1p50;
  Real<B> divisor = largerPart(y);
  return (divisor > 1 / bound) & (divisor < bound) & (largerPart(x) < bound);
}

// A tiny numerator is nothing unusual: what converges to zero is divided on its way.
template <class B>
Complex<B> divideUsual(Complex<B> x, Complex<B> y) {
  constexpr bool f64 = Format<B>::kIsF64;
  constexpr double tiny = f64 ? 0x1p-300 : 0x1p-40, scale = f64 ? 0x1p800 : 0x1p80;
  Mask<B> is_tiny = largerPart(x) < tiny;
  Real<B> up = select(is_tiny, scale, x.re.same(1.0));
  Real<B> down = select(is_tiny, 1 / scale, x.re.same(1.0));
  Complex<B> q = plainQuotient(Complex<B>(x.re * up, x.im * up), y);
  return {q.re * down, q.im * down};
}

template <class B>
Complex<B> divide(Complex<B> x, Complex<B> y) {
  Complex<B> q = divideUsual(x, y);
  Mask<B> unusual = !isUsual(x, y);
  return {rarely("divide_re", unusual,
                 [](Real<B> re, Real<B> a, Real<B> b, Real<B> c, Real<B> d) {
                   Complex<B> x(a, b), y(c, d);
                   return select(isUsual(x, y), re, divideScaled(x, y).re);
                 },
                 q.re, x.re, x.im, y.re, y.im),
          rarely("divide_im", unusual,
                 [](Real<B> im, Real<B> a, Real<B> b, Real<B> c, Real<B> d) {
                   Complex<B> x(a, b), y(c, d);
                   return select(isUsual(x, y), im, divideScaled(x, y).im);
                 },
                 q.im, x.re, x.im, y.re, y.im)};
}

template <class B>
Complex<B> sqrt(Complex<B> z) {
  using S = ScaledComplex<B>;
  const double inf = Format<B>::kInfinity;
  S scaled(z);
  constexpr double down = S::f64 ? 0x1p300 : 0x1p35, up = S::f64 ? 0x1p-350 : 0x1p-45;
  Real<B> t = sqrt(0.5 * (abs(scaled.re) + sqrt(scaled.norm()))) * scaled.choose(down, up, 1.0);
  t = select(isInfinite(z.re), inf, t);
  Real<B> u = z.im / (t + t);
  Mask<B> left = z.re < 0.0;
  Real<B> re = select(left, abs(u), t), im = select(left, copySign(t, z.im), u);
  Mask<B> zero = (z.re == 0.0) & (z.im == 0.0);
  Mask<B> upward = isInfinite(z.im);
  return {select(zero, 0.0, select(upward, inf, re)), select(zero | upward, z.im, im)};
}

template <class B>
Complex<B> reciprocal(Complex<B> z) {
  return divide(Complex<B>(z.re.same(1.0), z.re.same(0.0)), z);
}

template <MathBuilder B>
typename B::V abs(B& b, ComplexValue<B> z) {
  return abs(Complex<B>(b, z)).v;
}

template <MathBuilder B>
ComplexValue<B> sign(B& b, ComplexValue<B> z) {
  return sign(Complex<B>(b, z));
}

template <MathBuilder B>
ComplexValue<B> multiply(B& b, ComplexValue<B> x, ComplexValue<B> y) {
  return multiply(Complex<B>(b, x), Complex<B>(b, y));
}

template <MathBuilder B>
ComplexValue<B> divide(B& b, ComplexValue<B> x, ComplexValue<B> y) {
  return divide(Complex<B>(b, x), Complex<B>(b, y));
}

template <MathBuilder B>
ComplexValue<B> sqrt(B& b, ComplexValue<B> z) {
  return sqrt(Complex<B>(b, z));
}

template <MathBuilder B>
ComplexValue<B> rsqrt(B& b, ComplexValue<B> z) {
  return reciprocal(sqrt(Complex<B>(b, z)));
}

}  // namespace tercel::math
