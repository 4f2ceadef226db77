// What the functions are judged by: libm in a wider type, and the error in units of the last place.
#pragma once
#include <cmath>
#include <limits>

namespace tercel::math::oracle {

using std::acos, std::acosh, std::asin, std::asinh, std::atan, std::atan2, std::atanh, std::cbrt,
    std::cos, std::cosh, std::erf, std::exp, std::expm1, std::fmod, std::log, std::log1p, std::pow,
    std::sin, std::sinh, std::sqrt, std::tan, std::tanh;

template <class W>
W logistic(W x) {
  return x < 0 ? std::exp(x) / (1 + std::exp(x)) : 1 / (1 + std::exp(-x));
}

template <class W>
W rsqrt(W x) {
  return 1 / std::sqrt(x);
}

// |got - want| in units of T's last place at want; infinite for a wrong NaN, infinity or sign of
// zero. A `want` that rounds to infinity may be answered by infinity only, or counts its distance.
template <class T, class W>
double ulpError(T got, W want) {
  using Limits = std::numeric_limits<T>;
  const double wrong = std::numeric_limits<double>::infinity();
  if (std::isnan(got) || std::isnan(want)) return std::isnan(got) && std::isnan(want) ? 0 : wrong;
  if (std::isinf(want)) return std::isinf(got) && (got > 0) == (want > 0) ? 0 : wrong;
  if ((got == 0 || want == 0) && std::signbit(got) != std::signbit(want)) return wrong;
  int exponent;
  std::frexp(want, &exponent);
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
