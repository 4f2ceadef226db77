// Eigenvalues and eigenvectors of square matrices.
#include "runtime/linalg/arguments.h"
#include "runtime/linalg/products.h"
#include "runtime/linalg/reflectors.h"
#include "runtime/linalg/schur_form.h"
#include "runtime/linalg/triangular_vectors.h"

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
      Real<T> column = normOf(a.col(i)), row = normOf(a.row(i)), f = 1;
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

// Norm 1, and the largest element real.
template <class R>
void normalize(Eigen::Ref<VectorX<std::complex<R>>> x) {
  Index at = 0;
  const R largest = largestPart(x);
  if (!(largest > 0)) return;
  x = x / largest;
  x.cwiseAbs2().maxCoeff(&at);
  x *= std::conj(x[at]) / (std::abs(x[at]) * x.norm());
  x[at] = x[at].real();
}

// What balancing and isolating have done to a matrix.
template <class T>
struct Origin {
  VectorX<Index> order;
  VectorX<Real<T>> scale;
};

// Those of the triangular form. A left one is a right one of the adjoint, which is triangular when
// read backwards.
template <class T>
MatrixX<T> vectorsOfForm(const Schur<T>& schur, bool left) {
  if (!left) return TriangularVectors<T>(schur.t).find();
  const MatrixX<T> turned = schur.t.adjoint().reverse();
  MatrixX<T> vectors = TriangularVectors<T>(turned).find().reverse();
  for (Index k = 0; !kIsComplex<T> && k < vectors.cols(); ++k) {
    if (schur.values[k].imag() <= 0) continue;
    vectors.col(k).swap(vectors.col(k + 1));  // the vector of the conjugate eigenvalue
    vectors.col(k + 1) = -vectors.col(k + 1);
  }
  return vectors;
}

// Eigenvectors of the matrix itself from those of its triangular form.
template <class T>
void findVectors(const Schur<T>& schur, const Origin<T>& origin, bool left,
                 Eigen::Ref<ComplexMatrix<Real<T>>> vectors) {
  using C = Complex<T>;
  const Index n = schur.t.rows();
  MatrixX<T> of_form = vectorsOfForm(schur, left), products = MatrixX<T>::Zero(n, n);
  addProduct<T>(operand<T>(schur.u), operand<T>(of_form), 1, products);
  for (Index k = 0; k < n; ++k) {
    const bool is_pair = !kIsComplex<T> && schur.values[k].imag() != 0;
    for (Index i = 0; i < n; ++i) {
      C sum = products(i, k);
      if constexpr (!kIsComplex<T>) sum.imag(is_pair ? products(i, k + 1) : 0);
      const Real<T> scale = origin.scale[i];
      vectors(origin.order[i], k) = left ? C(sum / scale) : C(sum * scale);
    }
    normalize<Real<T>>(vectors.col(k));
    if (!is_pair) continue;
    vectors.col(k + 1) = vectors.col(k).conjugate();
    ++k;
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
    const R scale = scaleOf<T>(a);  // so that nothing overflows
    a = a / scale;
    Origin<T> origin;
    origin.order = isolate(a);
    origin.scale = balance(a);
    Schur<T> schur =
        schurForm(std::move(a), has_left || has_right ? SchurParts::all : SchurParts::values);
    if (!schur.converged) return void(info.number(b) = 1);
    if (has_left) findVectors<T>(schur, origin, true, left[b]);
    if (has_right) findVectors<T>(schur, origin, false, right[b]);
    schur.values *= scale;
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
