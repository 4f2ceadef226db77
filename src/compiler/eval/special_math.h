// Functions of real numbers that <cmath> lacks. R is double or long double; the errors are some ULP
// of it, but for digamma near its zeros.
#pragma once
#include <cmath>
#include <limits>
#include <numbers>

namespace tercel::eval {

// Halley's method on erfc, whose values do not cancel: erfc(y) = 1 - |x|.
template <class R>
R erfInverse(R x) {
  using Limits = std::numeric_limits<R>;
  const R size = std::fabs(x), rest = 1 - size;
  if (!(size <= 1)) return Limits::quiet_NaN();
  if (rest == 0) return std::copysign(Limits::infinity(), x);
  const R slope = 2 / std::sqrt(std::numbers::pi_v<R>);
  if (size < R(1e-9)) return x / slope;
  const R fit = R(0.147), log = std::log(rest * (1 + size));  // Winitzki, 2008
  const R half = 2 / (std::numbers::pi_v<R> * fit) + log / 2;
  R y = std::sqrt(std::sqrt(half * half - log / fit) - half);
  for (int i = 0; i < 6; ++i) {
    const R error = size < R(0.5) ? std::erf(y) - size : rest - std::erfc(y);
    const R step = error / (slope * std::exp(-y * y));
    y -= step / (1 + y * step);
  }
  return std::copysign(y, x);
}

// Recurrence up to where the asymptotic series has converged; reflection for negative numbers.
template <class R>
R digamma(R x) {
  using Limits = std::numeric_limits<R>;
  if (std::isnan(x) || x == -Limits::infinity()) return Limits::quiet_NaN();
  if (x <= 0) {
    const R part = x - std::nearbyint(x);
    if (part == 0) return Limits::quiet_NaN();
    const R angle = std::numbers::pi_v<R> * part;
    return digamma(1 - x) - std::numbers::pi_v<R> / std::tan(angle);
  }
  R sum = 0;
  for (; x < 24; x += 1) sum -= 1 / x;
  constexpr R kTerms[] = {R(1) / 12, R(-1) / 120, R(1) / 252, R(-1) / 240, R(1) / 132,
                          R(-691) / 32760, R(1) / 12, R(-3617) / 8160};
  const R square = 1 / (x * x);
  R power = square, series = 0;
  for (const R term : kTerms) series += term * power, power *= square;
  return sum + std::log(x) - 1 / (2 * x) - series;
}

// exp(-|x|) I_n(|x|): the power series, whose terms are positive, then Hankel's.
template <class R>
R besselScaled(int order, R size) {
  if (std::isnan(size)) return size;
  if (size < 40) {
    const R quarter = size * size / 4;
    R term = order == 0 ? R(1) : size / 2, sum = term;
    for (int k = 1; term > sum * std::numeric_limits<R>::epsilon() / 4; ++k)
      sum += term *= quarter / (R(k) * (k + order));
    return sum * std::exp(-size);
  }
  R term = 1, sum = 1;
  for (int k = 1; k < 40; ++k) {
    const R odd = 2 * k - 1;
    sum += term *= (odd * odd - 4 * order * order) / (8 * k * size);
  }
  return sum / std::sqrt(2 * std::numbers::pi_v<R> * size);
}

template <class R>
R besselI0e(R x) {
  return besselScaled(0, std::fabs(x));
}

template <class R>
R besselI1e(R x) {
  return std::copysign(besselScaled(1, std::fabs(x)), x);
}

}  // namespace tercel::eval
