// What the functions are judged by: libm in a wider type, and the error in units of the last place.
#pragma once
#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <string_view>

#include "compiler/eval/special_math.h"

namespace tercel::math::oracle {

using std::acos, std::acosh, std::asin, std::asinh, std::atan, std::atan2, std::atanh, std::cbrt,
    std::cos, std::cosh, std::erf, std::erfc, std::exp, std::exp2, std::expm1, std::fmod, std::lgamma,
    std::log, std::log1p, std::pow, std::sin, std::sinh, std::sqrt, std::tan, std::tanh;

template <class W>
W logistic(W x) {
  return x < 0 ? std::exp(x) / (1 + std::exp(x)) : 1 / (1 + std::exp(-x));
}

template <class W>
W rsqrt(W x) {
  return 1 / std::sqrt(x);
}

template <class W>
W erf_inv(W x) {
  return eval::erfInverse(x);
}

// digamma within 2^-8 of its positive zero: its Taylor polynomial there.
template <class W>
W digammaNearZero(W x) {
  constexpr long double zero[] = {0x1.762d86356be3fp+0L, 9.549995429965697715184199e-17L};
  constexpr long double c[] = {
      0.967672245447621170427445L,  -0.442763168983592106092865L, 0.258499760955651010624401L,
      -0.163942705442406527504251L, 0.107824050691262365757183L,  -0.0721995612564547109261218L,
      0.0488042881641431072250925L, -0.0331611264748473592922584L};
  const long double d = (x - zero[0]) - zero[1];
  long double sum = 0;
  for (int k = 7; k >= 0; --k) sum = sum * d + c[k];
  return static_cast<W>(sum * d);
}

// The asymptotic series from 16 on, recurrence and reflection elsewhere.
template <class W>
W digamma(W x) {
  if (std::isnan(x) || x == 0 || (x < 0 && x == std::trunc(x)))
    return std::numeric_limits<W>::quiet_NaN();
  if (x < 0) {
    const W pi = std::numbers::pi_v<W>;
    return digamma(-x) - 1 / x - pi / std::tan(pi * (x - std::round(x)));
  }
  if (std::isinf(x)) return x;
  if (std::fabs(x - W{1.4616321449683623L}) < 0x1p-8L) return digammaNearZero(x);
  W below = 0;
  for (; x < 16; x += 1) below += 1 / x;
  constexpr long double bernoulli[] = {1 / 12.0L,       -1 / 120.0L, 1 / 252.0L,
                                       -1 / 240.0L,     1 / 132.0L,  -691 / 32760.0L,
                                       1 / 12.0L,       -3617 / 8160.0L,
                                       43867 / 14364.0L};
  const W z = 1 / (x * x);
  W series = 0;
  for (int k = 8; k >= 0; --k) series = (series + static_cast<W>(bernoulli[k])) * z;
  return std::log(x) - 1 / (2 * x) - series - below;
}

template <class W>
W i0e(W x) {
  return eval::besselI0e(x);
}

template <class W>
W i1e(W x) {
  return eval::besselI1e(x);
}

// Beside their negative zeros some functions are differences of terms of this size, which the error
// is then small against; 0 elsewhere. log gamma is that in f64 only.
template <class W>
using TermSize = W (*)(W x);

template <class W>
TermSize<W> termSizeOf(std::string_view name) {
  if (name == "digamma") return [](W x) { return x < 0 ? digamma(1 - x) : W{0}; };
  if (name == "lgamma" && sizeof(W) > sizeof(double))
    return [](W x) { return x < 0 ? std::fabs(std::lgamma(-x)) : W{0}; };
  return [](W) { return W{0}; };
}

// |got - want| in units of T's last place at want; infinite for a wrong NaN, infinity or sign of
// zero. A `want` that rounds to infinity may be answered by infinity only, or counts its distance.
// The place is that of `terms` where this is larger.
template <class T, class W>
double ulpError(T got, W want, W terms = 0) {
  using Limits = std::numeric_limits<T>;
  const double wrong = std::numeric_limits<double>::infinity();
  if (std::isnan(got) || std::isnan(want)) return std::isnan(got) && std::isnan(want) ? 0 : wrong;
  if (std::isinf(want)) return std::isinf(got) && (got > 0) == (want > 0) ? 0 : wrong;
  if ((got == 0 || want == 0) && terms == 0 && std::signbit(got) != std::signbit(want)) return wrong;
  int exponent;
  std::frexp(std::max(std::fabs(want), terms), &exponent);
  exponent = std::max(exponent, Limits::min_exponent);
  const W top = std::ldexp(W{1}, Limits::max_exponent);
  if (exponent > Limits::max_exponent) {
    want = std::copysign(top, want);
    exponent = Limits::max_exponent;
  }
  W value = std::isinf(got) ? std::copysign(top, W{got}) : W{got};
  return static_cast<double>(std::fabs(value - want) / std::ldexp(W{1}, exponent - Limits::digits));
}

}  // namespace tercel::math::oracle
