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

// Brings each lane's matrix near to 1; those that are not finite become zero.
template <class T>
class Scaled {
 public:
  using R = RealOf<T>;
  Scaled(Number<T>* a, int64_t size) {
    Vector<R> largest = {};
    for (int64_t i = 0; i < size; ++i) {
      const Vector<R> here = size1(a[i]);
      not_finite_ |= !(here - here == 0);
      largest = larger(here, largest);
    }
    scale_ = scaleOf<R>(not_finite_ ? Vector<R>{} : largest);
    for (int64_t i = 0; i < size; ++i) a[i] = pick(not_finite_, Number<T>{}, a[i] * scale_.by);
  }
  Vector<R> back(Vector<R> x) const { return x * scale_.back; }
  Mask<R> notFinite() const { return not_finite_; }

 private:
  Mask<R> not_finite_ = {};
  Scale<R> scale_;
};

// Of a Hermitian matrix's lower triangle, of the order of 1: its diagonal becomes the eigenvalues,
// rising. v, if any, is multiplied by the rotations. Lanes that have not converged.
template <class T>
Mask<RealOf<T>> diagonalize(View<Number<T>> a, int64_t n, View<Number<T>> v) {
  using N = Number<T>;
  using R = RealOf<T>;
  constexpr R kNegligible = epsilonOf<R>() / 16 * (epsilonOf<R>() / 16);
  Mask<R> turned = {};
  for (int sweep = 0; sweep < kMostSweeps; ++sweep) {
    turned = Mask<R>{};
    for (int64_t p = 0; p < n; ++p)
      for (int64_t q = p + 1; q < n; ++q) {
        const Vector<R> before = realOf(a(p, p)), after = realOf(a(q, q));
        const Mask<R> is_small = square(a(q, p)) <= kNegligible;
        const Mask<R> turns = ~is_small | (before > after);
        if (!anyOf<R>(turns)) continue;
        turned |= turns;
        const Turn<T> turn(before, after, conjugate(a(q, p)), is_small, true);
        for (int64_t k = 0; k < p; ++k) {
          N x = conjugate(a(p, k)), y = conjugate(a(q, k));
          turn.apply(x, y);
          a(p, k) = conjugate(x);
          a(q, k) = conjugate(y);
        }
        for (int64_t k = p + 1; k < q; ++k) {
          N y = conjugate(a(q, k));
          turn.apply(a(k, p), y);
          a(q, k) = conjugate(y);
        }
        for (int64_t k = q + 1; k < n; ++k) turn.apply(a(k, p), a(k, q));
        a(p, p) = asNumber(N{}, before - turn.moved);
        a(q, q) = asNumber(N{}, after + turn.moved);
        a(q, p) = N{};
        if (v.data) turn.apply(v, n, p, q);
      }
    if (!anyOf<R>(turned)) break;
  }
  return turned;
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

template <class T>
void syevd(const Job<T>& job) {
  using N = Number<T>;
  using R = RealOf<T>;
  const int64_t n = job.n;
  N* scratch = take<T>(job, job.a, n * n, scratchOf(job));
  View<N> a{scratch, 1, n}, v{job.has_vectors ? scratch + n * n : nullptr, 1, n};
  for (int64_t j = 0; j < n; ++j) {
    a(j, j) = asNumber(N{}, realOf(a(j, j)));
    for (int64_t i = 0; i < j; ++i) {
      if (!job.triangle.lower) a(j, i) = conjugate(a(i, j));
      a(i, j) = N{};
    }
  }
  const Scaled<T> scaled(scratch, n * n);
  if (v.data) setIdentity(v, n);
  const Mask<R> failed = diagonalize<T>(a, n, v) | scaled.notFinite();
  auto* values = reinterpret_cast<Vector<R>*>(scratch + 2 * n * n);
  for (int64_t i = 0; i < n; ++i) values[i] = scaled.back(realOf(a(i, i)));
  putReals<R>(values, n, n, job.count, static_cast<R*>(job.values) + job.first * n);
  if (v.data) put(job, v.data, n * n, job.a);
  putIntegers<R>(failed & integers<R>(1), 1, job.count, job.info + job.first);
}

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
