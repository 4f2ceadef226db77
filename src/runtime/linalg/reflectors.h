// Householder's reflectors H = I - tau v v^H as LAPACK has them: v[0] is 1 and not stored, the
// others lie in the place of what they made zero, and Q = H(0) H(1) ... H(k - 1).
#pragma once
#include <algorithm>
#include <cmath>
#include <utility>

#include "runtime/linalg/dense.h"
#include "runtime/linalg/eigen.h"

namespace tercel::linalg {

// Whether squares and reciprocals of such numbers keep their bits.
template <class R>
bool isModerate(R squares) {
  return squares > kExact<R> && squares < 1 / kExact<R>;
}

template <class Vector>
auto normOf(const Vector& x) {
  const auto squares = x.squaredNorm();
  return isModerate(squares) ? std::sqrt(squares) : x.stableNorm();
}

// The reflector for which H^H x = (beta, 0, ...), beta real. x becomes (beta, v[1], v[2], ...).
template <class T>
T makeReflector(Eigen::Ref<VectorX<T>> x) {
  using Eigen::numext::imag, Eigen::numext::real;
  if (x.size() == 0) return T(0);
  auto tail = x.tail(x.size() - 1);
  const T alpha = x[0];
  const Real<T> below = tail.size() == 0 ? Real<T>(0) : normOf(tail);
  if (below == 0 && imag(alpha) == 0) return T(0);
  const Real<T> size = std::hypot(std::hypot(real(alpha), imag(alpha)), below);
  if (size < kExact<Real<T>>) {  // too few bits left: a power of two nearer to 1
    x *= 1 / kExact<Real<T>>;
    const T tau = makeReflector<T>(x);
    x[0] *= kExact<Real<T>>;
    return tau;
  }
  const Real<T> beta = -std::copysign(size, real(alpha));
  if (isModerate(size))
    tail *= T(1) / (alpha - beta);
  else  // without powers that a huge or tiny number does not have
    tail = (tail / size) * (T(size) / (alpha - beta));
  x[0] = beta;
  return (beta - alpha) / beta;
}

// c = (I - tau v v^H) c; v[0] may be anything.
template <class T, class Vector, class Column>
void reflect(const Vector& v, T tau, Column&& c) {
  const auto tail = v.tail(v.size() - 1);
  const T share = tau * (c[0] + tail.dot(c.tail(tail.size())));
  c[0] -= share;
  c.tail(tail.size()) -= share * tail;
}

template <class T>
void reflectBy(void (*kernel)(const dense::Reflection<T>&), Eigen::Ref<VectorX<T>> v, T tau,
               MatrixRef<T> c) {
  if (c.size() == 0) return;
  const T first = std::exchange(v[0], T(1));
  kernel({c.rows(), c.cols(), v.data(), tau, c.data(), c.outerStride()});
  v[0] = first;
}
// The same of all columns.
template <class T>
void reflectColumns(Eigen::Ref<VectorX<T>> v, T tau, MatrixRef<T> c) {
  reflectBy<T>(dense::reflect<T>, v, tau, c);
}
// c = c (I - tau v v^H)
template <class T>
void reflectRows(Eigen::Ref<VectorX<T>> v, T tau, MatrixRef<T> c) {
  reflectBy<T>(dense::reflectRows<T>, v, tau, c);
}

constexpr Index kPanel = 32;  // reflectors that stay in the caches while columns pass

// Small enough to pass all columns that are left once for each reflector.
template <class T>
bool staysNear(const Eigen::Ref<const MatrixX<T>>& a) {
  constexpr Index kNearBytes = 80 << 10, kFewColumnsBytes = 200 << 10;
  return a.size() * Index{sizeof(T)} <= (a.cols() <= kPanel ? kFewColumnsBytes : kNearBytes);
}
// And, where reflectors change columns and rows, to multiply it by a vector for each besides.
template <class T>
bool staysNearBothWays(const Eigen::Ref<const MatrixX<T>>& a) {
  constexpr Index kNearBytes = 200 << 10;
  return a.size() * Index{sizeof(T)} <= kNearBytes;
}

}  // namespace tercel::linalg
