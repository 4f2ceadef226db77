// Eigenvalues and eigenvectors of square matrices.
#include "runtime/linalg/arguments.h"
#include "runtime/linalg/products.h"
#include "runtime/linalg/schur_form.h"

namespace tercel::linalg {
namespace {

constexpr int32_t kNotFinite = -4;  // as jaxlib's handlers

template <class R>
using ComplexMatrix = MatrixX<std::complex<R>>;

// Powers of two that bring each row's norm near that of its column: row i is divided by the i-th,
// and column i multiplied. Parlett and Reinsch, 1969, with the norms of James, Langou and Lowery,
// 2014.
template <class T>
VectorX<Real<T>> balance(MatrixX<T>& a) {
  const Index n = a.rows();
  VectorX<Real<T>> scale = VectorX<Real<T>>::Ones(n);
  const Real<T> largest = std::sqrt(std::numeric_limits<Real<T>>::max()) / 4;
  for (bool changed = true; changed;) {
    changed = false;
    for (Index i = 0; i < n; ++i) {
      Real<T> column = a.col(i).stableNorm(), row = a.row(i).stableNorm(), f = 1;
      if (column == 0 || row == 0) continue;
      const Real<T> before = std::hypot(column, row);
      for (; column < row / 2 && f < largest && scale[i] < largest; f *= 2) column *= 2, row /= 2;
      for (; column >= row * 2 && f > 1 / largest && scale[i] > 1 / largest; f /= 2)
        column /= 2, row *= 2;
      if (f == 1 || std::hypot(column, row) >= Real<T>(0.95) * before) continue;
      scale[i] *= f;
      if (!(scale[i] < largest && scale[i] > 1 / largest)) {
        scale[i] /= f;
        continue;
      }
      a.row(i) *= 1 / f;
      a.col(i) *= f;
      changed = true;
    }
  }
  return scale;
}

// A triangular form of complex numbers from that of a real matrix.
template <class R>
void makeTriangular(const Schur<R>& schur, ComplexMatrix<R>& t, ComplexMatrix<R>& u) {
  using C = std::complex<R>;
  t = schur.t.template cast<C>();
  u = schur.u.template cast<C>();
  for (Index i = 0; i + 1 < t.rows(); ++i) {
    if (schur.t(i + 1, i) == 0) continue;
    // The block's first eigenvector, and what is orthogonal to it.
    const C first(schur.t(i, i + 1), 0), second(0, schur.values[i].imag());
    const R size = std::hypot(first.real(), second.imag());
    Eigen::Matrix<C, 2, 2> turn;
    turn << first / size, second / size, second / size, first / size;
    t.middleRows(i, 2) = (turn.adjoint().lazyProduct(t.middleRows(i, 2))).eval();
    t.middleCols(i, 2) = (t.middleCols(i, 2).lazyProduct(turn)).eval();
    u.middleCols(i, 2) = (u.middleCols(i, 2).lazyProduct(turn)).eval();
    t(i, i) = schur.values[i];
    t(i + 1, i + 1) = schur.values[i + 1];
    t(i + 1, i) = C(0);
    ++i;
  }
}
template <class R>
void makeTriangular(const Schur<std::complex<R>>& schur, ComplexMatrix<R>& t, ComplexMatrix<R>& u) {
  t = schur.t;
  u = schur.u;
}

// Eigenvectors of an upper triangular matrix whose elements are of the order of 1.
template <class R>
class TriangularVectors {
 public:
  using C = std::complex<R>;
  explicit TriangularVectors(const ComplexMatrix<R>& t)
      : t_(t), tiny_(kExact<R> * R(t.rows())), largest_(t.cwiseAbs().colwise().maxCoeff()) {}

  // Elements 0 to k: t x = t(k, k) x.
  VectorX<C> right(Index k) const {
    VectorX<C> x(k + 1);
    x.head(k) = -t_.col(k).head(k);
    x[k] = C(1);
    R most = 1 + largest_[k];  // no element is larger
    for (Index i = k; i-- > 0;) {
      divide(x, i, difference(i, k));
      addProduct<C>(t_.block(0, i, i, 1), &x[i], -1, x.data());
      most += std::abs(x[i]) * (1 + largest_[i]);
      shrink(x, most);
    }
    return x;
  }
  // Elements k to n - 1: y^H t = t(k, k) y^H.
  VectorX<C> left(Index k) const {
    const Index n = t_.rows();
    VectorX<C> y = VectorX<C>::Zero(n - k);
    y[0] = C(1);
    R most = 1;
    for (Index i = k + 1; i < n; ++i) {
      addAdjointProduct<C>(t_.block(k, i, i - k, 1), y.data(), -1, &y[i - k]);
      divide(y, i - k, std::conj(difference(i, k)));
      most += std::abs(y[i - k]);
      shrink(y, most);
    }
    return y;
  }

 private:
  static constexpr R kLarge = sizeof(R) == 4 ? R(1e15) : R(1e140);

  // Not too small to divide by: eigenvalues that are equal have one eigenvector, or almost.
  C difference(Index i, Index k) const {
    const C d = t_(i, i) - t_(k, k);
    const R least = std::max(std::numeric_limits<R>::epsilon() * std::abs(t_(k, k)), tiny_);
    return std::abs(d) < least ? C(least) : d;
  }
  // x[i] /= d, where all of x is made smaller first if the quotient would be large.
  static void divide(VectorX<C>& x, Index i, C d) {
    const R size = std::abs(x[i]), most = std::abs(d) * kLarge;
    if (size > most) x *= most / size;
    x[i] /= d;
  }
  // No element of x is larger than `most`.
  static void shrink(VectorX<C>& x, R& most) {
    if (most <= kLarge) return;
    const R size = x.cwiseAbs().maxCoeff();
    most = std::min(size, R(1));
    if (size > 1) x = x / size;
  }

  const ComplexMatrix<R>& t_;
  const R tiny_;
  const VectorX<R> largest_;  // of each column
};

// Norm 1, and the largest element real.
template <class R>
void normalize(Eigen::Ref<VectorX<std::complex<R>>> x) {
  Index at = 0;
  const R largest = x.cwiseAbs().maxCoeff(&at);
  if (!(largest > 0)) return;
  x = x / largest;
  x *= std::conj(x[at]) / (std::abs(x[at]) * x.norm());
  x[at] = x[at].real();
}

// What balancing and isolating have done to a matrix.
template <class T>
struct Origin {
  VectorX<Index> order;
  VectorX<Real<T>> scale;
};

// Eigenvectors of the matrix itself from those of its triangular form.
template <class T>
void findVectors(const Schur<T>& schur, const Origin<T>& origin, bool left,
                 Eigen::Ref<ComplexMatrix<Real<T>>> vectors) {
  using C = Complex<T>;
  const Index n = schur.t.rows();
  ComplexMatrix<Real<T>> t, u;
  makeTriangular(schur, t, u);
  const TriangularVectors<Real<T>> triangular(t);
  const auto is_conjugate = [&](Index k) { return !kIsComplex<T> && schur.values[k].imag() < 0; };
  ComplexMatrix<Real<T>> of_triangle = ComplexMatrix<Real<T>>::Zero(n, n), products = of_triangle;
  for (Index k = 0; k < n; ++k) {
    if (is_conjugate(k)) continue;
    if (left) {
      of_triangle.col(k).tail(n - k) = triangular.left(k);
    } else {
      of_triangle.col(k).head(k + 1) = triangular.right(k);
    }
  }
  addProduct<C>(operand<C>(u), operand<C>(of_triangle), 1, products);
  for (Index k = 0; k < n; ++k) {
    if (is_conjugate(k)) {
      vectors.col(k) = vectors.col(k - 1).conjugate();
      continue;
    }
    const VectorX<C> sum = products.col(k) / products.col(k).cwiseAbs().maxCoeff();
    for (Index i = 0; i < n; ++i) {
      const Real<T> scale = origin.scale[i];
      vectors(origin.order[i], k) = left ? C(sum[i] / scale) : C(sum[i] * scale);
    }
    normalize<Real<T>>(vectors.col(k));
    if (kIsComplex<T> || schur.values[k].imag() != 0) continue;
    vectors.col(k) = vectors.col(k).real().template cast<C>();
  }
}

}  // namespace

template <class T>
Status geev(const Call& call) {
  using R = Real<T>;
  constexpr size_t kValues = kIsComplex<T> ? 1 : 2;
  Arguments arguments(call, 1, 3 + kValues);
  const Index n = arguments.cols();
  const Batch<const T> in = arguments.operand<T>(0, {n, n});
  const Batch<T> values = arguments.result<T>(0, {n}), imag = arguments.result<T>(kValues - 1, {n});
  const Batch<Complex<T>> left = arguments.result<Complex<T>>(kValues, {n, n});
  const Batch<Complex<T>> right = arguments.result<Complex<T>>(1 + kValues, {n, n});
  const Batch<int32_t> info = arguments.result<int32_t>(2 + kValues, {});
  const bool has_left = arguments.letter("compute_left", "NV") == 'V';
  const bool has_right = arguments.letter("compute_right", "NV") == 'V';
  TERCEL_TRY(arguments.status());
  return forEachIn(call, arguments.batch(), 30.0 * n * n * n, [&](Index b) {
    info.number(b) = 0;
    if (n == 0) return;
    MatrixX<T> a = in[b];
    if (!a.allFinite()) return void(info.number(b) = kNotFinite);
    int power = 0;  // of two: the largest element becomes one of [1, 2), so that nothing overflows
    const R largest = a.cwiseAbs().maxCoeff();
    if (largest > 0) power = std::ilogb(largest);
    a *= std::ldexp(R(1), -power / 2);
    a *= std::ldexp(R(1), -(power - power / 2));
    Origin<T> origin;
    origin.order = isolate(a);
    origin.scale = balance(a);
    Schur<T> schur = schurForm(std::move(a));
    if (!schur.converged) return void(info.number(b) = 1);
    if (has_left) findVectors<T>(schur, origin, true, left[b]);
    if (has_right) findVectors<T>(schur, origin, false, right[b]);
    schur.values *= std::ldexp(R(1), power / 2);
    schur.values *= std::ldexp(R(1), power - power / 2);
    if constexpr (kIsComplex<T>) {
      values.vector(b) = schur.values;
    } else {
      values.vector(b) = schur.values.real();
      imag.vector(b) = schur.values.imag();
    }
  });
}

#define INSTANTIATE(T) template Status geev<T>(const Call&);
TERCEL_LINALG_TYPES(INSTANTIATE)

}  // namespace tercel::linalg
