// Factorisations and triangular systems of small matrices in lanes, with the results of LAPACK.
// lanes_baseline.cc and its likes define TERCEL_VECTOR_BYTES and TERCEL_ISA, and include this.
#pragma once
#include <algorithm>

#include "runtime/linalg/lane_matrices.h"
#include "runtime/linalg/lane_reflectors.h"
#include "runtime/linalg/lane_singular.h"
#include "runtime/linalg/lane_symmetric.h"
#include "runtime/linalg/lane_tridiagonal.h"

namespace tercel::linalg::lanes::TERCEL_ISA {

// A column at a time: less what those before it give it, over the root of its pivot.
template <class T>
void potrf(const Job<T>& job) {
  using N = Number<T>;
  using R = RealOf<T>;
  const int64_t n = job.n;
  N* scratch = takeMatrix<T>(job, job.a, n, n, job.lead, scratchOf(job));
  N* row = scratch + job.lead * n;  // of what is done, conjugated: a column
  View<N> a{scratch, 1, job.lead};
  if (!job.triangle.lower) a = a.transposed();  // the conjugate's factor
  Mask<R> failed = {};
  for (int64_t j = 0; j < n; ++j) {
    for (int64_t k = 0; k < j; ++k) row[k] = conjugate(a(j, k));
    subtractProducts<N>(from(a, j, 0), {row, 1, 0}, n - j, j, from(a, j, j));
    const Vector<R> pivot = realOf(a(j, j));
    const Mask<R> is_bad = !(pivot > 0);
    failed = failed == 0 ? (is_bad & integers<R>(j + 1)) : failed;
    const Vector<R> root = squareRoot<R>(pivot);
    a(j, j) = asNumber(N{}, root);
    const Divisor<T> by(a(j, j));
    for (int64_t i = j + 1; i < n; ++i) a(i, j) = by.into(a(i, j));
  }
  putMatrix(job, scratch, job.lead, n, n, job.a);
  putIntegers<R>(failed, 1, job.count, job.info + job.first);
}

// Exchanges row k with the row that each lane names.
template <class R, class N>
void exchange(View<N> a, int64_t rows, int64_t columns, int64_t k, Mask<R> with) {
  for (int64_t i = k + 1; i < rows; ++i) {
    const Mask<R> is_here = with == integers<R>(i);
    if (!anyOf<R>(is_here)) continue;
    for (int64_t j = 0; j < columns; ++j) {
      const N x = a(k, j), y = a(i, j);
      a(k, j) = pick(is_here, y, x);
      a(i, j) = pick(is_here, x, y);
    }
  }
}

template <class T>
void getrf(const Job<T>& job) {
  using N = Number<T>;
  using R = RealOf<T>;
  const int64_t m = job.m, n = job.n, steps = m < n ? m : n;
  N* scratch = takeMatrix<T>(job, job.a, m, n, job.lead, scratchOf(job));
  const View<N> a{scratch, 1, job.lead};
  Mask<R> failed = {};
  for (int64_t j = 0; j < n; ++j) {
    const int64_t above = j < m ? j : m;
    for (int64_t i = 1; i < above; ++i)
      subtractRows<1>(from(a, i, 0), from(a, 0, j), i, from(a, i, j));
    if (j >= steps) continue;
    subtractProducts(from(a, j, 0), from(a, 0, j), m - j, j, from(a, j, j));
    Vector<R> largest = size1(a(j, j));
    Mask<R> pivot = integers<R>(j);
    for (int64_t i = j + 1; i < m; ++i) {
      const Vector<R> size = size1(a(i, j));
      pivot = size > largest ? integers<R>(i) : pivot;
      largest = larger(size, largest);
    }
    const Mask<R> is_zero = largest == 0;
    failed = failed == 0 ? (is_zero & integers<R>(j + 1)) : failed;
    exchange<R>(a, m, n, j, pivot);
    const Divisor<T> by(pick(is_zero, asNumber(N{}, all(R(1))), a(j, j)));
    for (int64_t i = j + 1; i < m; ++i) a(i, j) = by.into(a(i, j));
    putIntegers<R>(pivot + 1, steps, job.count, job.pivots + job.first * steps + j);
  }
  putMatrix(job, scratch, job.lead, m, n, job.a);
  putIntegers<R>(failed, 1, job.count, job.info + job.first);
}

// All forms are lower X = B of a view.
template <class T>
void trsm(const Job<T>& job) {
  using N = Number<T>;
  const Triangle& how = job.triangle;
  const int64_t n = how.left ? job.m : job.k, columns = how.left ? job.k : job.m;
  N* triangle = takeMatrix(job, job.given, n, n, job.given_lead, scratchOf(job));
  N* sides = takeMatrix<T>(job, job.a, job.m, job.k, job.lead, triangle + job.given_lead * n);
  if (how.conjugate)
    for (int64_t i = 0; i < job.given_lead * n; ++i) triangle[i] = conjugate(triangle[i]);
  View<N> a{triangle, 1, job.given_lead}, x{sides, 1, job.lead};
  if (!how.left) x = x.transposed();
  if (how.transposed) a = a.transposed();
  if (how.lower == how.transposed) {
    a = a.reversed(n, n);
    x = x.reversed(n, columns);
  }
  for (int64_t i = 0; i < n; ++i) {
    // A row of x is a column of its transpose: so the sums over k share a(i, k).
    subtractProducts(from(x, 0, 0).transposed(), from(a, i, 0).transposed(), columns, i,
                     from(x, i, 0).transposed());
    if (how.unit) continue;
    const Divisor<T> by(a(i, i));
    for (int64_t c = 0; c < columns; ++c) x(i, c) = by.into(x(i, c));
  }
  putMatrix(job, sides, job.lead, job.m, job.k, job.a);
}

template <class T>
void geqrf(const Job<T>& job) {
  using N = Number<T>;
  const int64_t m = job.m, n = job.n, steps = m < n ? m : n;
  N* scratch = takeMatrix<T>(job, job.a, m, n, job.lead, scratchOf(job));
  N* taus = scratch + job.lead * n;
  makeTriangular<T>({scratch, 1, job.lead}, m, n, taus);
  putMatrix(job, scratch, job.lead, m, n, job.a);
  put(job, taus, steps, job.taus);
}

template <class T>
void orgqr(const Job<T>& job) {
  using N = Number<T>;
  const int64_t m = job.m, n = job.n, k = job.k;
  N* scratch = takeMatrix<T>(job, job.a, m, n, job.lead, scratchOf(job));
  const N* taus = take(job, job.given, k, scratch + job.lead * n);
  makeOrthogonal<T>({scratch, 1, job.lead}, m, n, k, taus);
  putMatrix(job, scratch, job.lead, m, n, job.a);
}

// Q = H(0) H(1) ... of k reflectors: from the one nearest to what it is applied to.
template <class T>
void ormqr(const Job<T>& job) {
  using N = Number<T>;
  const bool left = job.triangle.left, adjoint = job.triangle.transposed;
  const int64_t rows = left ? job.m : job.n, columns = left ? job.n : job.m;
  N* given = takeMatrix(job, job.reflectors, rows, job.given_columns, job.given_lead,
                        scratchOf(job));
  const View<N> v{given, 1, job.given_lead};
  N* a = takeMatrix<T>(job, job.a, job.m, job.n, job.lead,
                       given + job.given_lead * job.given_columns);
  const N* taus = take(job, job.given, job.k, a + job.lead * job.n);
  View<N> c{a, 1, job.lead};
  if (!left) {  // (C H)^T = (I - tau conj(v) v^T) C^T
    for (int64_t i = 0; i < job.given_lead * job.k; ++i) given[i] = conjugate(given[i]);
    c = c.transposed();
  }
  for (int64_t step = 0; step < job.k; ++step) {
    const int64_t j = left == adjoint ? step : job.k - 1 - step;
    const N tau = adjoint ? conjugate(taus[j]) : taus[j];
    reflect(&v(j, j), tau, rows - j, columns, from(c, j, 0));
  }
  putMatrix(job, a, job.lead, job.m, job.n, job.a);
}

template <class T>
void gehrd(const Job<T>& job) {
  using N = Number<T>;
  const int64_t n = job.n, high = job.high;
  N* scratch = take<T>(job, job.a, n * n, scratchOf(job));
  N *taus = scratch + n * n, *conjugates = taus + n;
  const View<N> a{scratch, 1, n};
  for (int64_t k = 0; k < n - 1; ++k) taus[k] = N{};
  for (int64_t k = job.low; k + 1 < high; ++k) {
    const int64_t size = high - k - 1;
    N* v = &a(k + 1, k);
    taus[k] = makeReflector<T>(v, size);
    for (int64_t i = 1; i < size; ++i) conjugates[i] = conjugate(v[i]);
    reflect(conjugates, taus[k], size, high, from(a, 0, k + 1).transposed());
    reflect(v, conjugate(taus[k]), size, size + n - high, from(a, k + 1, k + 1));
  }
  put(job, scratch, n * n, job.a);
  put(job, taus, std::max<int64_t>(n - 1, 0), job.taus);
}

template <class T>
void gtsv(const Job<T>& job) {
  using N = Number<T>;
  using R = RealOf<T>;
  const int64_t n = job.n;
  N* parts = scratchOf(job);
  for (int i = 0; i < 3; ++i) take(job, job.diagonals[i], n, parts + i * n);
  const Tridiagonal<T> t{parts, parts + n, parts + 2 * n, n};
  N* sides = take<T>(job, job.a, n * job.k, parts + 3 * n);
  const View<N> x{sides, 1, n};
  Mask<R> failed = eliminate(t, x, job.k);
  if (job.factors[0]) {
    for (int i = 0; i < 3; ++i) put(job, parts + i * n, n, job.factors[i]);
    putIntegers<R>(failed, 1, job.count, job.info + job.first);
  } else {
    perturb(t);
    failed = Mask<R>{};
  }
  substitute(t, x, job.k, failed == 0);
  put(job, sides, n * job.k, job.a);
}

TERCEL_LANE_FUNCTIONS(TERCEL_LANE_INSTANCES)

}  // namespace tercel::linalg::lanes::TERCEL_ISA
