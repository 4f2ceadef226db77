// remainder: fmod, exact for any magnitudes.
#pragma once
#include "compiler/kernel/math/expr.h"

namespace tercel::math {

// For any x and y. Each step takes off a multiple of y (or of y 2^step, y 2^(2 step), where the quotient by y could
// overflow). The quotient's rounding error leaves at most half of its last bit, times y: that
// difference is exact, and the magnitude falls by at least 2^kMantissa.
template <class B>
Real<B> fmodAnywhere(Real<B> x, Real<B> y) {
  constexpr bool f64 = Format<B>::kIsF64;
  constexpr double step = f64 ? 0x1p700 : 0x1p78;
  constexpr int bound = f64 ? 46 : 17;
  Real<B> divisor = abs(y);
  Real<B> larger = divisor * step, largest = larger * step;
  B& b = *x.b;
  auto goes_on = [&](typename B::V v) { return (abs(Real<B>{&b, v}) >= divisor).m; };
  auto reduce = [&](typename B::V v) {
    Real<B> rest{&b, v};
    Real<B> size = abs(rest);
    Real<B> d = select(size >= largest, largest, select(size >= larger, larger, divisor));
    return fma(-trunc(rest / d), d, rest).v;
  };
  Real<B> rest{&b, repeatWhile(b, bound, abs(x).v, goes_on, reduce)};
  rest = select(rest < 0.0, rest + divisor, rest);
  return select(isNan(y), y, xorSign(abs(rest), x));
}

// Below it a quotient that is cut is exact, or one too large.
template <class B>
inline constexpr double kMostQuotient = Format<B>::kIsF64 ? 0x1p50 : 0x1p21;

// `rest`, but what x leaves of y where the quotient is not below that.
template <class B>
Real<B> restOf(Real<B> rest, Mask<B> is_below, Real<B> x, Real<B> y) {
  return rarely("remainder_special", !is_below,
                [](Real<B>, Real<B> v, Real<B> w) { return fmodAnywhere(v, w); },
                orSignOf(rest, x), x, y);
}

// Where the quotient is not large it is computed a little too large, by the divisor's reciprocal, and
// then the quotient or one more once it is cut: the difference is exact, and tells which.
template <class B>
Real<B> fmod(Real<B> x, Real<B> y) {
  constexpr bool f64 = Format<B>::kIsF64;
  constexpr double more = f64 ? 1 + 0x1p-51 : 1 + 0x1p-22;
  constexpr double largest = f64 ? 0x1p1022 : 0x1p126;  // has a reciprocal with all bits
  Real<B> size = abs(x), divisor = abs(y);
  Real<B> reciprocal = select(divisor > largest, Format<B>::kNan, more / divisor);
  Real<B> quotient = size * reciprocal;
  Real<B> rest = fma(-trunc(quotient), divisor, size);
  rest = select(rest < 0.0, rest + divisor, rest);
  return restOf(rest, quotient < kMostQuotient<B>, x, y);
}

// By a power of two from 1 on, where the quotient is exact or less than 1.
template <MathBuilder B>
typename B::V remainderByPower(B& b, typename B::V v, double y) {
  Real<B> x{&b, v};
  return orSignOf(fma(-trunc(x * (1 / y)), y, x), x).v;
}

// Of one number: branches that are foreseen take less than what they leave out, mostly all.
template <class B>
Real<B> fmodByBranch(Real<B> x, Real<B> y) {
  Real<B> size = abs(x), divisor = abs(y);
  auto once = [](Real<B>, Real<B> v, Real<B> d) {
    Real<B> rest = fma(-trunc(v / d), d, v);  // exact, below 0 where the quotient was rounded up
    return select(rest < 0.0, rest + d, rest);
  };
  Real<B> rest = rarely("remainder_once", size >= divisor, once, size, size, divisor);
  return restOf(rest, size < divisor * kMostQuotient<B>, x, y);
}

template <class B>
Real<B> remainder(Real<B> x, Real<B> y) {
  return isScalar(*x.b) ? fmodByBranch(x, y) : fmod(x, y);
}

template <MathBuilder B>
typename B::V remainder(B& b, typename B::V x, typename B::V y) {
  return remainder(Real<B>{&b, x}, Real<B>{&b, y}).v;
}

}  // namespace tercel::math
