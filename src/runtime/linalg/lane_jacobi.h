// Eigenvalues and singular values in lanes by Jacobi's rotations: the two-sided ones of 1846, and
// Hestenes's of columns, 1958. They sort as they go.
#pragma once
#include "runtime/linalg/lane_reflectors.h"

namespace tercel::linalg::lanes {
namespace {

constexpr int kMostSweeps = 40;  // six to ten are usual

// (x, y) = (c x - conj(s) y, s x + c y): makes the matrix of x and y's products, p, z; conj(z), q,
// diagonal.
template <class T>
struct Turn {
  using N = Number<T>;
  using V = Vector<RealOf<T>>;
  V c, moved;  // p becomes p - moved
  N s;

  Turn(V p, V q, N z, Mask<RealOf<T>> is_small, bool rising) {
    const V zero = {}, one = all(RealOf<T>(1));
    const V size = squareRoot<RealOf<T>>(square(z)), divisor = is_small ? one : size;
    const V half = (q - p) / (divisor + divisor);
    const V root = squareRoot<RealOf<T>>(half * half + one);
    V t = 1 / (absolute(half) + root);
    t = half < 0 ? -t : t;
    t = is_small ? zero : t;
    moved = t * size;
    c = 1 / squareRoot<RealOf<T>>(t * t + one);
    V sine = t * c;
    const V before = p - moved, after = q + moved;
    const Mask<RealOf<T>> swaps = rising ? before > after : before < after;
    const V old = c;
    c = swaps ? sine : c;
    sine = swaps ? -old : sine;
    s = pick(is_small, asNumber(N{}, one), z / divisor) * sine;
    moved = swaps ? p - after : moved;
  }
  TERCEL_PART void apply(N& x, N& y) const {
    const N old = x;
    x = old * c - conjugate(s) * y;
    y = s * old + y * c;
  }
  void apply(View<N> a, int64_t rows, int64_t p, int64_t q) const {
    for (int64_t k = 0; k < rows; ++k) apply(a(k, p), a(k, q));
  }
};

template <class R>
constexpr R epsilonOf() {
  return R(1) / (int64_t{1} << Limits<R>::kFractionBits);
}

template <class N>
void setIdentity(View<N> a, int64_t n) {
  for (int64_t j = 0; j < n; ++j)
    for (int64_t i = 0; i < n; ++i)
      a(i, j) = asNumber(N{}, all(decltype(realOf(N{})[0] + 0)(i == j)));
}

// Makes x's columns orthogonal and their lengths falling. v, if any, is multiplied by the
// rotations. Lanes that have not converged.
template <class T>
Mask<RealOf<T>> orthogonalize(View<Number<T>> x, int64_t m, int64_t n, View<Number<T>> v) {
  using N = Number<T>;
  using R = RealOf<T>;
  const Vector<R> tiny = all(Limits<R>::kTiny / epsilonOf<R>());  // products have fewer bits
  R negligible = epsilonOf<R>() * epsilonOf<R>() * R(m + 4);
  Mask<R> turned = {};
  for (int sweep = 0; sweep < kMostSweeps; ++sweep) {
    turned = Mask<R>{};
    if (sweep == kMostSweeps / 2)
      negligible *= 64;  // should rounding errors be larger than others'
    for (int64_t p = 0; p < n; ++p)
      for (int64_t q = p + 1; q < n; ++q) {
        Vector<R> before = {}, after = {};
        N product = {};
        for (int64_t k = 0; k < m; ++k) {
          before += square(x(k, p));
          after += square(x(k, q));
          product = product + conjugate(x(k, p)) * x(k, q);
        }
        const Mask<R> is_small = square(product) <= larger(negligible * before * after, tiny);
        const Mask<R> turns = ~is_small | (before < after);
        if (!anyOf<R>(turns)) continue;
        turned |= turns;
        const Turn<T> turn(before, after, product, is_small, false);
        turn.apply(x, m, p, q);
        if (v.data) turn.apply(v, n, p, q);
      }
    if (!anyOf<R>(turned)) break;
  }
  return turned;
}

}  // namespace

namespace TERCEL_ISA {

// The columns' directions become u's first, and what is orthogonal to them the others; their
// lengths become the values.
template <class T>
void findDirections(View<Number<T>> x, int64_t m, int64_t n, Number<T>* taus, int64_t columns,
                    Number<T>* u, Vector<RealOf<T>>* values) {
  using R = RealOf<T>;
  makeTriangular<T>(x, m, n, taus);
  for (int64_t j = 0; j < n; ++j) {
    values[j] = realOf(x(j, j));
    for (int64_t i = 0; i < m; ++i) u[i + j * m] = x(i, j);
  }
  if (columns > 0) makeOrthogonal<T>({u, 1, m}, m, columns, n, taus);
  for (int64_t j = 0; j < n; ++j) {
    const Vector<R> sign = values[j] < 0 ? all(R(-1)) : all(R(1));
    for (int64_t i = 0; i < m; ++i) u[i + j * m] = u[i + j * m] * sign;
    values[j] = values[j] * sign;
  }
}

template <class T>
void gesdd(const Job<T>& job) {
  using N = Number<T>;
  using R = RealOf<T>;
  const bool is_tall = job.m >= job.n;
  const int64_t m = is_tall ? job.m : job.n, n = is_tall ? job.n : job.m, columns = job.k;
  N* given = take<T>(job, job.a, m * n, scratchOf(job));
  const View<N> x{given, 1, m};
  N *u = given + m * m, *right = u + m * m, *taus = right + n * n;
  auto* values = reinterpret_cast<Vector<R>*>(taus + n);
  if (!is_tall) {
    for (int64_t j = 0; j < n; ++j)
      for (int64_t i = 0; i < m; ++i) u[i + j * m] = conjugate(given[j + i * n]);
    for (int64_t i = 0; i < m * n; ++i) given[i] = u[i];
  }
  const Scaled<T> scaled(given, m * n);
  View<N> v{job.has_vectors ? right : nullptr, 1, n};
  if (v.data) setIdentity(v, n);
  Mask<R> failed = orthogonalize<T>(x, m, n, v);
  failed = scaled.notFinite() ? integers<R>(-4) : (failed & integers<R>(1));
  findDirections<T>(x, m, n, taus, v.data ? columns : 0, u, values);
  for (int64_t j = 1; j < n; ++j) values[j] = values[j] > values[j - 1] ? values[j - 1] : values[j];
  for (int64_t j = 0; j < n; ++j) values[j] = scaled.back(values[j]);
  putReals<R>(values, n, n, job.count, static_cast<R*>(job.values) + job.first * n);
  putIntegers<R>(failed, 1, job.count, job.info + job.first);
  if (!v.data) return;
  // The adjoint of what is to the right, in x's place or its own.
  N* turned = given;
  const int64_t rows = is_tall ? n : m, of = is_tall ? n : columns;
  const N* from = is_tall ? right : u;
  for (int64_t j = 0; j < of; ++j)
    for (int64_t i = 0; i < rows; ++i) turned[j + i * of] = conjugate(from[i + j * rows]);
  put(job, is_tall ? u : right, is_tall ? m * columns : n * n, job.u);
  put(job, turned, rows * of, job.vh);
}

}  // namespace TERCEL_ISA
}  // namespace tercel::linalg::lanes
