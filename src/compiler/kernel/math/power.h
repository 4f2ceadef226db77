// power, as IEEE 754's pow.
#pragma once
#include "compiler/kernel/math/exponential.h"
#include "compiler/kernel/math/log.h"

namespace tercel::math {

// An unevaluated sum, |lo| at most about an ulp of hi.
template <class B>
struct Pair {
  Real<B> hi, lo;
};

template <class B>
Pair<B> fastSum(Real<B> a, Real<B> b) {  // exact for |a| >= |b| or a = 0
  Real<B> s = a + b;
  return {s, b - (s - a)};
}

template <class B>
Pair<B> twoSum(Real<B> a, Real<B> b) {  // exact
  Real<B> s = a + b;
  Real<B> t = s - a;
  return {s, (a - (s - t)) + (b - t)};
}

template <class B>
Pair<B> product(Real<B> a, Real<B> b) {  // exact
  Real<B> p = a * b;
  return {p, fma(a, b, -p)};
}

template <class B>
Pair<B> product(Pair<B> a, Pair<B> b) {
  auto [hi, lo] = product(a.hi, b.hi);
  return {hi, fma(a.lo, b.hi, fma(a.hi, b.lo, lo))};
}

template <class B>
Pair<B> sum(Real<B> a, Pair<B> b) {  // |a| >= |b| or a = 0
  auto [hi, lo] = fastSum(a, b.hi);
  return {hi, lo + b.lo};
}

template <class B>
Pair<B> sum(const std::array<double, 2>& a, Pair<B> b) {
  auto [hi, lo] = fastSum(b.hi.same(a[0]), b.hi);
  return {hi, lo + (b.lo + a[1])};
}

// log2(x) for x > 0 and finite, to about 10 (11 for f64) bits more than a float has.
template <class B>
Pair<B> log2Pair(Real<B> x, bool may_be_subnormal) {
  using C = Coefficients<B::kBits>;
  auto [m, e, power] = reduceLog(x, may_be_subnormal);
  // s = (m - 1) / (m + 1); log2 m = 2 / ln2 atanh s
  Real<B> f = m - 1.0, d = m + 1.0, d_lo = m - (d - 1.0);
  Real<B> reciprocal = 1.0 / d;
  Real<B> s_hi = f * reciprocal;
  Pair<B> s{s_hi, fma(-s_hi, d_lo, fma(-s_hi, d, f)) * reciprocal};
  Pair<B> z = product(s, s);
  Pair<B> tail{z.hi * polynomial(z.hi, C::log2_tail), z.hi.same(0.0)};
  Pair<B> series = sum(C::two_log2e, product(z, sum(C::two_thirds_log2e, tail)));
  Pair<B> log2m = product(s, series);
  Pair<B> total = sum(e, log2m);
  return fastSum(total.hi, total.lo);
}

template <class B>
Real<B> exp2Pair(Pair<B> x) {
  using F = Format<B>;
  using C = Coefficients<B::kBits>;
  constexpr double bound = F::kIsF64 ? 1100 : 170;  // beyond it 0 or infinite
  constexpr double overflow = F::kBias + 2;
  Mask<B> far = abs(x.hi) > bound;
  Real<B> lo = select(far, 0.0, x.lo);
  Real<B> hi = max(-bound, min(overflow, x.hi));
  Real<B> shifted = hi + F::kShifter;
  Real<B> k = shifted - F::kShifter;
  auto [r, r_lo] = fastSum(hi - k, lo);
  Real<B> small = fma(r, C::ln2[1], r_lo * C::ln2[0]);
  Real<B> t = fma(r, C::ln2[0], fma(r * r, polynomial(r, C::exp2), small));
  return scaleByPower(t + 1.0, shifted, k, hi, 1 - F::kBias);
}

// Beyond it only |x| = 1 does not overflow or underflow.
template <class B>
inline constexpr double kLargePower = Format<B>::kIsF64 ? 0x1p70 : 0x1p40;

template <class B>
Mask<B> isOrdinaryPower(Real<B> x, Real<B> y) {
  return isPositiveNormal(x) & (abs(y) < kLargePower<B>);
}

// What no function has to be called for: +0, of which arrays have many where they have any, is left
// as it is by positive exponents.
template <class B>
Mask<B> staysZero(Real<B> x, Real<B> y) {
  return (x.bits() == 0) & (y > 0.0);
}

// 2^(log2x y)
template <class B>
Real<B> powOfLog(Pair<B> log2x, Real<B> y) {
  auto [hi, lo] = product(y, log2x.hi);
  return exp2Pair(Pair<B>{hi, fma(y, log2x.lo, lo)});
}

template <class B>
Real<B> powAnywhere(Real<B> x, Real<B> y) {
  using F = Format<B>;
  Real<B> size = abs(x);
  Real<B> bounded = max(-kLargePower<B>, min(kLargePower<B>, y));
  Real<B> p = powOfLog(log2Pair(size, true), bounded);
  Mask<B> zero = size == 0.0, infinite = size == F::kInfinity;
  Real<B> limit = select(select(zero, -y, y) > 0.0, p.same(F::kInfinity), 0.0);
  p = select(zero | infinite, limit, p);

  Mask<B> integer = trunc(y) == y;
  Real<B> half = y * 0.5;
  Mask<B> odd = integer & (trunc(half) != half);
  p = select(odd, xorSign(p, x), p);
  p = select((x < 0.0) & !(integer | infinite), F::kNan, p);
  p = select(isNan(x) | isNan(y), x + y, p);
  return select((x == 1.0) | (y == 0.0), 1.0, p);
}

template <class B>
Real<B> pow(Real<B> x, Real<B> y) {
  Mask<B> zero = staysZero(x, y);
  Real<B> p = select(zero, 0.0, powOfLog(log2Pair(x, false), y));
  return rarely("power_special", !(isOrdinaryPower(x, y) | zero),
                [](Real<B> q, Real<B> v, Real<B> w) {
                  return select(isOrdinaryPower(v, w), q, powAnywhere(v, w));
                }, p, x, y);
}

template <MathBuilder B>
typename B::V power(B& b, typename B::V x, typename B::V y) {
  return pow(Real<B>{&b, x}, Real<B>{&b, y}).v;
}

}  // namespace tercel::math
