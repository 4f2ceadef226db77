// Eigenvalues of Hermitian matrices, and the tridiagonal matrices that they are found from.
#include "runtime/linalg/arguments.h"
#include "runtime/linalg/reflectors.h"

#include <Eigen/Eigenvalues>

namespace tercel::linalg {
namespace {

template <class T>
using RealVectorRef = Eigen::Ref<VectorX<Real<T>>>;

// result = a v, from a's lower triangle.
template <class T>
void multiplyHermitian(const MatrixRef<T>& a, const VectorX<T>& v, VectorX<T>& result) {
  const Index n = v.size();
  result.setZero(n);
  for (Index j = 0; j < n; ++j) {
    const auto below = a.col(j).tail(n - j - 1);
    result[j] += Eigen::numext::real(a(j, j)) * v[j] + below.dot(v.tail(n - j - 1));
    result.tail(n - j - 1) += below * v[j];
  }
}

// a = Q t Q^H, by a's lower triangle: t's diagonals, and Q as reflectors on the rows from 1 on, as
// LAPACK's hetd2 with uplo = L.
template <class T>
void tridiagonalize(MatrixRef<T> a, RealVectorRef<T> d, RealVectorRef<T> e,
                    Eigen::Ref<VectorX<T>> taus) {
  const Index n = a.rows();
  VectorX<T> v, w;
  for (Index k = 0; k + 1 < n; ++k) {
    const Index rest = n - k - 1;
    const T tau = taus[k] = makeReflector<T>(a.col(k).tail(rest));
    e[k] = Eigen::numext::real(a(k + 1, k));
    if (tau == T(0)) continue;
    v = a.col(k).tail(rest);
    v[0] = T(1);
    MatrixRef<T> corner = a.bottomRightCorner(rest, rest);
    multiplyHermitian<T>(corner, v, w);
    w *= tau;
    w += v * (T(-0.5) * tau * w.dot(v));
    for (Index j = 0; j < rest; ++j) {
      corner.col(j).tail(rest - j) -= v.tail(rest - j) * Eigen::numext::conj(w[j]) +
                                      w.tail(rest - j) * Eigen::numext::conj(v[j]);
    }
  }
  for (Index i = 0; i < n; ++i) {
    d[i] = Eigen::numext::real(a(i, i));
    a(i, i) = d[i];
  }
}

// Eigenvectors in a where asked for; false where it does not converge.
template <class T>
bool diagonalize(MatrixX<T>& a, bool has_vectors, RealVectorRef<T> values) {
  const Index n = a.rows();
  a.template triangularView<Eigen::StrictlyUpper>().setZero();
  if (!a.allFinite()) return false;
  const Real<T> scale = a.cwiseAbs().maxCoeff();
  if (scale > 0) a = a / scale;
  VectorX<Real<T>> d(n), e(n - 1);
  VectorX<T> taus(n - 1);
  tridiagonalize<T>(a, d, e, taus);
  MatrixX<T> vectors;
  if (has_vectors) {
    vectors.setIdentity(n, n);
    applyReflectors<T>(a.bottomLeftCorner(n - 1, n - 1), taus, false, true,
                       vectors.bottomRightCorner(n - 1, n - 1));
  }
  const auto outcome =
      Eigen::internal::computeFromTridiagonal_impl(d, e, 30, has_vectors, vectors);
  values = d * scale;
  if (has_vectors) a = vectors;
  return outcome == Eigen::Success;
}

}  // namespace

template <class T>
Status syevd(const Call& call) {
  Arguments arguments(call, 1, 3);
  const Index n = arguments.cols();
  const Batch<const T> in = arguments.operand<T>(0, {n, n});
  const Batch<T> out = arguments.result<T>(0, {n, n});
  const Batch<Real<T>> values = arguments.result<Real<T>>(1, {n});
  const Batch<int32_t> info = arguments.result<int32_t>(2, {});
  const bool lower = arguments.letter("uplo", "LU") == 'L';
  const bool has_vectors = arguments.letter("mode", "NV") == 'V';
  TERCEL_TRY(arguments.status());
  return forEachIn(call, arguments.batch(), 9.0 * n * n * n, [&](Index b) {
    info.number(b) = 0;
    if (n == 0) return;
    MatrixX<T> a = lower ? MatrixX<T>(in[b]) : MatrixX<T>(in[b].adjoint());
    if (!diagonalize<T>(a, has_vectors, values.vector(b))) info.number(b) = 1;
    out[b] = a;
  });
}

template <class T>
Status sytrd(const Call& call) {
  Arguments arguments(call, 1, 5);
  const Index n = arguments.cols(), k = std::max<Index>(n - 1, 0);
  arguments.operand<T>(0, {n, n});
  const Batch<T> out = arguments.result<T>(0, {n, n});
  const Batch<Real<T>> d = arguments.result<Real<T>>(1, {n}), e = arguments.result<Real<T>>(2, {k});
  const Batch<T> taus = arguments.result<T>(3, {k});
  const Batch<int32_t> info = arguments.result<int32_t>(4, {});
  const bool lower = arguments.letter("uplo", "LU") == 'L';
  TERCEL_TRY(arguments.status());
  arguments.copy(0, 0);
  return forEachIn(call, arguments.batch(), 4.0 / 3 * n * n * n, [&](Index b) {
    info.number(b) = 0;
    if (lower) return tridiagonalize<T>(out[b], d.vector(b), e.vector(b), taus.vector(b));
    // Backwards, the upper triangle is a lower one.
    MatrixX<T> a = out[b].reverse();
    VectorX<Real<T>> diagonal(n), beside(k);
    VectorX<T> factors(k);
    tridiagonalize<T>(a, diagonal, beside, factors);
    out[b] = a.reverse();
    d.vector(b) = diagonal.reverse();
    e.vector(b) = beside.reverse();
    taus.vector(b) = factors.reverse();
  });
}

#define INSTANTIATE(T)                    \
  template Status syevd<T>(const Call&);  \
  template Status sytrd<T>(const Call&);
TERCEL_LINALG_TYPES(INSTANTIATE)

}  // namespace tercel::linalg
