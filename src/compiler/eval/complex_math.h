// Complex functions that <complex> lacks or defines otherwise. C is complex<double> or
// complex<long double>; branch cuts and signed zeros follow C99 (which NumPy follows too), but
// nothing recovers an infinity or zero from a NaN: XLA:CPU does not.
#pragma once
#include <cmath>
#include <complex>

namespace tercel::eval {

template <class C>
C multiplyComplex(C a, C b) {
  return C(a.real() * b.real() - a.imag() * b.imag(), a.real() * b.imag() + a.imag() * b.real());
}

template <class C>
C expComplex(C z) {
  auto x = z.real(), y = z.imag(), size = std::exp(x);
  return C(size * std::cos(y), y == 0 ? y : size * std::sin(y));
}

// exp(x) cos(y) - 1 without cancellation where x and y are small.
template <class C>
C expm1Complex(C z) {
  auto x = z.real(), y = z.imag();
  if (y == 0) return C(std::expm1(x), y);
  auto half_sine = std::sin(y / 2);
  return C(std::expm1(x) * std::cos(y) - 2 * half_sine * half_sine, std::exp(x) * std::sin(y));
}

// |1 + z|^2 - 1, which cancels near |1 + z| = 1.
template <class R>
R squaredNormMinusOne(R x, R y) {
#ifdef __SIZEOF_FLOAT128__
  using Exact = __float128;
#else
  using Exact = long double;
#endif
  return static_cast<R>(Exact(x) * (Exact(x) + 2) + Exact(y) * Exact(y));
}

template <class C>
C log1pComplex(C z) {
  using R = typename C::value_type;
  R x = z.real(), y = z.imag();
  R norm = squaredNormMinusOne(x, y), angle = std::atan2(y, 1 + x);
  if (std::abs(norm) < R(0.5)) return C(std::log1p(norm) / 2, angle);
  return C(std::log(std::hypot(1 + x, y)), angle);
}

template <class C>
C powComplex(C x, C y) {
  if (y == C(0) || x == C(1)) return C(1);
  bool positive = y.imag() == 0 && y.real() > 0, negative = y.imag() == 0 && y.real() < 0;
  if (positive && x == C(INFINITY)) return C(INFINITY);
  if ((positive && x == C(0)) || (negative && x == C(INFINITY))) return C(0);
  return expComplex(multiplyComplex(y, std::log(x)));
}

template <class C>
C tanhComplex(C z) {
  bool lost = z.real() == 0 && !std::isfinite(z.imag());
  return lost ? C(NAN, NAN) : std::tanh(z);
}

template <class C>
C tanComplex(C z) {
  bool lost = z.imag() == 0 && !std::isfinite(z.real());
  return lost ? C(NAN, NAN) : std::tan(z);
}

template <class C>
C cbrtComplex(C z) {
  using R = typename C::value_type;
  return z == C(0) ? C(0) : expComplex(std::log(z) / R(3));
}

template <class C>
C logisticComplex(C z) {
  return C(1) / (C(1) + expComplex(-z));
}

// A zero keeps the signs of its parts.
template <class C>
C signComplex(C z) {
  auto size = std::hypot(z.real(), z.imag());
  if (std::isnan(z.real()) || std::isnan(z.imag())) return C(NAN, NAN);
  return size == 0 ? z : C(z.real() / size, z.imag() / size);
}

// -i log((x + iy) / sqrt(x^2 + y^2))
template <class C>
C atan2Complex(C y, C x) {
  C i(0, 1);
  C norm = std::sqrt(multiplyComplex(x, x) + multiplyComplex(y, y));
  return -multiplyComplex(i, std::log((x + multiplyComplex(i, y)) / norm));
}

template <class C>
bool lessComplex(C a, C b) {
  return a.real() == b.real() ? a.imag() < b.imag() : a.real() < b.real();
}

}  // namespace tercel::eval
