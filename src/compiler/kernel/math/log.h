// log, log_plus_one.
#pragma once
#include "compiler/kernel/math/coefficients.h"
#include "compiler/kernel/math/expr.h"

namespace tercel::math {

// x = m 2^e, m in [0.75, 1.5); for x > 0 and finite. `power` is 2^(1 - e).
template <class B>
struct LogReduction {
  Real<B> m, e, power;
};

template <class B>
LogReduction<B> reduceLog(Real<B> x, bool may_be_subnormal) {
  using F = Format<B>;
  constexpr double lift = F::kIsF64 ? 54 : 24;
  Mask<B> subnormal = x < F::kMinNormal;
  Real<B> normal = may_be_subnormal ? select(subnormal, x * (F::kIsF64 ? 0x1p54 : 0x1p24), x) : x;
  Bits<B> n = (normal.bits() - F::bitsOf(0.75)).ashr(F::kMantissa);
  Bits<B> exponent = n.shl(F::kMantissa);
  Real<B> e = fromSmallInt(n);
  if (may_be_subnormal) e = select(subnormal, e - lift, e);
  Real<B> power = fromBits(F::bitsOf(2.0) - exponent);
  return {fromBits(normal.bits() - exponent), e, power};
}

// e ln2 + log(1 + f), f in [-1/4, 1/2].
template <class B>
Real<B> logSum(Real<B> e, Real<B> f) {
  using C = Coefficients<B::kBits>;
  Real<B> f2 = f * f;
  Real<B> y = fma(f * f2, polynomial(f, C::log), e * C::ln2[1]);
  y = f + fma(f2, -0.5, y);
  return fma(e, C::ln2[0], y);
}

// What log(x) is where x is not positive and finite.
template <class B>
Real<B> logSpecial(Real<B> x, Real<B> y) {
  using F = Format<B>;
  Real<B> not_positive = select(x == 0.0, x.same(-F::kInfinity), F::kNan);
  return select(x > 0.0, select(x < F::kInfinity, y, x), not_positive);
}

template <class B>
Real<B> log(Real<B> x) {
  auto [m, e, power] = reduceLog(x, false);
  return rarely("log_special", !isPositiveNormal(x), [](Real<B> y, Real<B> v) {
    auto [m, e, power] = reduceLog(v, true);
    return select(isPositiveNormal(v), y, logSpecial(v, logSum(e, m - 1.0)));
  }, logSum(e, m - 1.0), x);
}

template <class B>
Real<B> log1p(Real<B> x) {
  Real<B> u = x + 1.0;
  auto [m, e, power] = reduceLog(u, false);
  // u's rounding error; from 2^24 (2^53) on it is not needed, and 0 or small.
  Real<B> error = x - (u - 1.0);
  Real<B> f = fma(error * power, 0.5, m - 1.0);
  return rarely("log1p_special", !isPositiveNormal(u), [](Real<B> y, Real<B> v) {
    return select(isPositiveNormal(v), y, logSpecial(v, y));
  }, orSignOf(logSum(e, f), x), u);
}

template <MathBuilder B>
typename B::V log(B& b, typename B::V x) {
  return log(Real<B>{&b, x}).v;
}

template <MathBuilder B>
typename B::V log_plus_one(B& b, typename B::V x) {
  return log1p(Real<B>{&b, x}).v;
}

}  // namespace tercel::math
