// Singular values in lanes: as singular_values.cc finds them one by one.
#pragma once
#include "runtime/linalg/lane_bidiagonal.h"

namespace tercel::linalg::lanes {
namespace {

// a = Q b P^H with an upper bidiagonal b: the reflectors of Q in a's columns, of P in `rows`'s.
template <class T>
void bidiagonalize(View<Number<T>> a, int64_t m, int64_t n, Vector<RealOf<T>>* d,
                   Vector<RealOf<T>>* e, Number<T>* left, Number<T>* right, View<Number<T>> rows) {
  using N = Number<T>;
  for (int64_t j = 0; j < n; ++j) {
    left[j] = makeReflector<T>(&a(j, j), m - j);
    d[j] = realOf(a(j, j));
    const int64_t rest = n - j - 1, below = m - j - 1;
    if (rest == 0) return;
    reflect(&a(j, j), conjugate(left[j]), m - j, rest, from(a, j, j + 1));
    N* v = &rows(j, j);
    for (int64_t k = 0; k < rest; ++k) v[k] = conjugate(a(j, j + 1 + k));
    right[j] = makeReflector<T>(v, rest);
    e[j] = realOf(v[0]);
    for (int64_t i = 0; i < below; ++i) {
      N sum = a(j + 1 + i, j + 1);
      for (int64_t k = 1; k < rest; ++k) sum = sum + a(j + 1 + i, j + 1 + k) * v[k];
      sum = sum * right[j];
      a(j + 1 + i, j + 1) = a(j + 1 + i, j + 1) - sum;
      for (int64_t k = 1; k < rest; ++k)
        a(j + 1 + i, j + 1 + k) = a(j + 1 + i, j + 1 + k) - sum * conjugate(v[k]);
    }
  }
}

// A matrix that has e below its diagonal becomes one that has it above, and v's columns with it.
template <class T>
void turnToUpper(int64_t n, Vector<RealOf<T>>* d, Vector<RealOf<T>>* e,
                 Vector<RealOf<T>>* rotations, View<Number<T>> v) {
  using R = RealOf<T>;
  for (int64_t i = 0; i + 1 < n; ++i) {
    const Rotation<R> turn(d[i], e[i]);
    d[i] = turn.size;
    e[i] = turn.s * d[i + 1];
    d[i + 1] = turn.c * d[i + 1];
    rotations[i] = turn.c;
    rotations[n + i] = turn.s;
  }
  turnColumns(v, n, 0, n - 1, rotations, rotations + n);
}

template <class N>
void takeAdjoint(View<N> from, int64_t rows, int64_t columns, View<N> to) {
  for (int64_t j = 0; j < columns; ++j)
    for (int64_t i = 0; i < rows; ++i) to(j, i) = conjugate(from(i, j));
}

// a = u diag(d) v^H of m rows and n columns, no more than rows. u has `columns` columns; there is
// none, nor v, where v's data is null. The adjoint is what is asked for where `is_turned`.
template <class T>
struct Decomposition {
  using N = Number<T>;
  using R = RealOf<T>;
  View<N> a;
  int64_t m, n, columns;
  View<N> u, v;
  Vector<R>* d;
  N* memory;  // n n + 2 n numbers, and 5 n real ones

  Mask<R> run(bool is_turned) const {
    const View<N> rows{memory, 1, n};
    N *left = memory + n * n, *right = left + n;
    auto *e = reinterpret_cast<Vector<R>*>(right + n), *rotations = e + n;
    bidiagonalize<T>(a, m, n, d, e, left, right, rows);
    if (v.data) {
      for (int64_t j = 0; j < n; ++j)
        for (int64_t i = j; i < m; ++i) u(i, j) = a(i, j);
      makeOrthogonal<T>(u, m, columns, n, left);
      orthogonalBelow<T>(rows, n, right, v);
      if (is_turned) {
        turnToUpper<T>(n, d, e, rotations, v);
        return Bidiagonal<T>(n, d, e, rotations, v, n, u, m).run();
      }
    }
    return Bidiagonal<T>(n, d, e, rotations, u, v.data ? m : 0, v, n).run();
  }
};

// (u 0; 0 1), of which `columns` columns, times Q by the reflectors in a's columns.
template <class T>
void extend(View<Number<T>> u, int64_t m, int64_t n, int64_t columns, View<Number<T>> a,
            const Number<T>* taus, View<Number<T>> to) {
  using N = Number<T>;
  for (int64_t j = 0; j < columns; ++j)
    for (int64_t i = 0; i < m; ++i)
      to(i, j) = i < n && j < n ? u(i, j) : asNumber(N{}, all(RealOf<T>(i == j)));
  for (int64_t j = n - 1; j >= 0; --j) reflect(&a(j, j), taus[j], m - j, columns, from(to, j, 0));
}

}  // namespace

namespace TERCEL_ISA {

template <class T>
void gesdd(const Job<T>& job) {
  using N = Number<T>;
  using R = RealOf<T>;
  const bool is_turned = job.m < job.n;
  const int64_t m = is_turned ? job.n : job.m, n = is_turned ? job.m : job.n, columns = job.k;
  N *first = scratchOf(job), *second = first + m * m, *memory = second + m * m;
  N* given = take<T>(job, job.a, m * n, is_turned ? second : first);
  const Scaled<T> scaled(given, m * n);
  const View<N> a{first, 1, m};
  if (is_turned) takeAdjoint(View<N>{given, 1, n}, n, m, a);
  N *right = memory, *small = right + n * n, *taus = small + 2 * n * n, *work = taus + n;
  auto* d = reinterpret_cast<Vector<R>*>(work + n * n + 7 * n);
  View<N> u{second, 1, m}, v{job.has_vectors ? right : nullptr, 1, n};
  Mask<R> failed;
  if (!isTall(m, n, kParts<T> == 2)) {
    failed = Decomposition<T>{a, m, n, columns, u, v, d, work}.run(is_turned);
  } else {
    makeTriangular<T>(a, m, n, taus);
    const View<N> triangle{small, 1, n}, of_triangle{small + n * n, 1, n};
    for (int64_t j = 0; j < n; ++j)
      for (int64_t i = 0; i < n; ++i) {
        const N x = i <= j ? a(i, j) : N{};
        is_turned ? triangle(j, i) = conjugate(x) : triangle(i, j) = x;
      }
    failed = Decomposition<T>{triangle, n, n, n, of_triangle, v, d, work}.run(false);
    if (v.data) {
      const View<N> core = is_turned ? v : of_triangle;
      if (is_turned) v = of_triangle;
      extend<T>(core, m, n, columns, a, taus, u);
    }
  }
  failed = scaled.notFinite() ? integers<R>(-4) : (failed & integers<R>(1));
  for (int64_t j = 0; j < n; ++j) d[j] = scaled.back(d[j]);
  putReals<R>(d, n, n, job.count, static_cast<R*>(job.values) + job.first * n);
  putIntegers<R>(failed, 1, job.count, job.info + job.first);
  if (!v.data) return;
  // The adjoint of what is to the right, in the given matrix's place.
  const int64_t rows = is_turned ? m : n, of = is_turned ? columns : n;
  takeAdjoint(is_turned ? u : v, rows, of, View<N>{first, 1, of});
  put(job, is_turned ? v.data : u.data, is_turned ? n * n : m * columns, job.u);
  put(job, first, rows * of, job.vh);
}

}  // namespace TERCEL_ISA
}  // namespace tercel::linalg::lanes
