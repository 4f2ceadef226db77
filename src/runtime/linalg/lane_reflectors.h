// Householder's reflectors in lanes, as reflectors.h has them.
#pragma once
#include "runtime/linalg/lane_matrices.h"

namespace tercel::linalg::lanes {
namespace {

// The reflector for which H^H x = (beta, 0, ...), beta real; x becomes (beta, v[1], ...). The
// numbers are brought near to 1 first, by a power of two.
template <class T>
Number<T> makeReflector(Number<T>* x, int64_t size) {
  using N = Number<T>;
  using V = Vector<RealOf<T>>;
  if (size == 1 && kParts<T> == 1) return N{};
  V largest = {}, squares = {};
  for (int64_t i = 0; i < size; ++i) largest = larger(size1(x[i]), largest);
  const Scale<RealOf<T>> scale = scaleOf<RealOf<T>>(largest);
  for (int64_t i = 1; i < size; ++i) squares += square(x[i] * scale.by);
  const N alpha = x[0] * scale.by;
  const auto stays = (squares == 0) & isReal(alpha);
  const V length = squareRoot<RealOf<T>>(squares + square(alpha));
  const V beta = realOf(alpha) < 0 ? length : -length;
  const N one = asNumber(N{}, all(RealOf<T>(1)));
  const N less = alpha - asNumber(N{}, beta);
  const N factor = pick(stays, one, inverseOf(pick(stays, one, less))) * scale.by;
  for (int64_t i = 1; i < size; ++i) x[i] = pick(stays, N{}, x[i] * factor);
  x[0] = pick(stays, x[0], asNumber(N{}, beta * scale.back));
  return pick(stays, N{}, (N{} - less) / pick(stays, all(RealOf<T>(1)), beta));
}

// c = (I - tau v v^H) c, v[0] = 1 whatever is there.
template <int kColumns, class N>
TERCEL_PART void reflectColumns(const N* v, N tau, int64_t size, View<N> c) {
  N sums[kColumns];
  for (int j = 0; j < kColumns; ++j) sums[j] = c(0, j);
  for (int64_t i = 1; i < size; ++i) {
    const N factor = conjugate(v[i]);
    for (int j = 0; j < kColumns; ++j) sums[j] = sums[j] + factor * c(i, j);
  }
  for (int j = 0; j < kColumns; ++j) {
    sums[j] = sums[j] * tau;
    c(0, j) = c(0, j) - sums[j];
  }
  for (int64_t i = 1; i < size; ++i)
    for (int j = 0; j < kColumns; ++j) c(i, j) = c(i, j) - v[i] * sums[j];
}
template <class N>
void reflect(const N* v, N tau, int64_t size, int64_t columns, View<N> c) {
  int64_t j = 0;
  for (; j + 4 <= columns; j += 4) reflectColumns<4>(v, tau, size, from(c, 0, j));
  for (; j < columns; ++j) reflectColumns<1>(v, tau, size, from(c, 0, j));
}

// a becomes its QR factorisation, or from that Q, of n columns and k reflectors.
template <class T>
void makeTriangular(View<Number<T>> a, int64_t m, int64_t n, Number<T>* taus) {
  for (int64_t j = 0; j < (m < n ? m : n); ++j) {
    taus[j] = makeReflector<T>(&a(j, j), m - j);
    reflect(&a(j, j), conjugate(taus[j]), m - j, n - j - 1, from(a, j, j + 1));
  }
}
// From the last reflector on, each applied to the columns that it and later ones make.
template <class T>
void makeOrthogonal(View<Number<T>> a, int64_t m, int64_t n, int64_t k, const Number<T>* taus) {
  using N = Number<T>;
  for (int64_t j = k; j < n; ++j)
    for (int64_t i = 0; i < m; ++i) a(i, j) = asNumber(N{}, all(RealOf<T>(i == j)));
  for (int64_t j = k - 1; j >= 0; --j) {
    reflect(&a(j, j), taus[j], m - j, n - j - 1, from(a, j, j + 1));
    for (int64_t i = j + 1; i < m; ++i) a(i, j) = N{} - taus[j] * a(i, j);
    a(j, j) = asNumber(N{}, all(RealOf<T>(1))) - taus[j];
    for (int64_t i = 0; i < j; ++i) a(i, j) = N{};
  }
}

// Q of n rows, which begins with a 1, by n - 1 reflectors in the columns of a lower triangle.
template <class T>
void orthogonalBelow(View<Number<T>> reflectors, int64_t n, const Number<T>* taus,
                     View<Number<T>> q) {
  using N = Number<T>;
  for (int64_t j = 0; j + 1 < n; ++j)
    for (int64_t i = j; i + 1 < n; ++i) q(i + 1, j + 1) = reflectors(i, j);
  makeOrthogonal<T>(from(q, 1, 1), n - 1, n - 1, n - 1, taus);
  for (int64_t i = 1; i < n; ++i) q(i, 0) = q(0, i) = N{};
  q(0, 0) = asNumber(N{}, all(RealOf<T>(1)));
}

}  // namespace
}  // namespace tercel::linalg::lanes
