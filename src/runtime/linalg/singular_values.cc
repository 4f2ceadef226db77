// Singular values: a matrix is made bidiagonal by reflectors, and that diagonal by rotations.
#include "runtime/linalg/arguments.h"
#include "runtime/linalg/bidiagonal.h"
#include "runtime/linalg/reflectors.h"

namespace tercel::linalg {
namespace {

template <class T>
struct Svd {
  MatrixX<T> u, v;
  VectorX<Real<T>> values;  // falling
  bool converged = false;
};

// Of a matrix of no more columns than rows: a = u diag(values) v^H, where u has `columns` columns;
// 0: neither u nor v.
template <class T>
Svd<T> decompose(MatrixX<T> a, Index columns) {
  const Index m = a.rows(), n = a.cols();
  const Real<T> scale = a.cwiseAbs().maxCoeff();
  if (scale > 0) a = a / scale;
  Svd<T> svd;
  VectorX<Real<T>> d(n), e(n - 1);
  VectorX<T> left(n), right(n - 1), row;
  MatrixX<T> rows(n - 1, n - 1);  // the reflectors from the right, which rows of a have been
  for (Index j = 0; j < n; ++j) {
    left[j] = makeReflector<T>(a.col(j).tail(m - j));
    d[j] = Eigen::numext::real(a(j, j));
    const T factor = Eigen::numext::conj(left[j]);
    for (Index c = j + 1; c < n; ++c) reflect(a.col(j).tail(m - j), factor, a.col(c).tail(m - j));
    if (j + 1 == n) break;
    const Index rest = n - j - 1;
    row = a.row(j).tail(rest).adjoint();
    right[j] = makeReflector<T>(row);
    e[j] = Eigen::numext::real(row[0]);
    rows.col(j).tail(rest) = row;
    if (j + 1 < m) reflectRows<T>(row, right[j], a.bottomRightCorner(m - j - 1, rest));
  }
  if (columns > 0) {
    svd.u.setIdentity(m, columns);
    applyReflectors<T>(a, left, false, true, svd.u);
    svd.v.setIdentity(n, n);
    applyReflectors<T>(rows, right, false, true, svd.v.bottomRightCorner(n - 1, n - 1));
  }
  svd.converged = diagonalize<T>(d, e, svd.u, svd.v);
  svd.values = d * scale;
  return svd;
}

}  // namespace

template <class T>
Status gesdd(const Call& call) {
  Arguments arguments(call, 1, 5);
  const Index m = arguments.rows(), n = arguments.cols(), k = std::min(m, n);
  const char mode = arguments.letter("mode", "ASN");
  const Index columns = mode == 'A' ? m : k, vector_rows = mode == 'A' ? n : k;
  const Batch<const T> in = arguments.operand<T>(0, {m, n});
  arguments.result<T>(0, {m, n});
  const Batch<Real<T>> values = arguments.result<Real<T>>(1, {k});
  Batch<T> u, vh;
  if (mode != 'N') {
    u = arguments.result<T>(2, {m, columns});
    vh = arguments.result<T>(3, {vector_rows, n});
  }
  const Batch<int32_t> info = arguments.result<int32_t>(4, {});
  TERCEL_TRY(arguments.status());
  return forEachIn(call, arguments.batch(), 12.0 * m * n * k, [&](Index b) {
    info.number(b) = 0;
    if (k == 0) {
      if (mode == 'N') return;
      u[b].setIdentity();
      vh[b].setIdentity();
      return;
    }
    MatrixX<T> a = m >= n ? MatrixX<T>(in[b]) : MatrixX<T>(in[b].adjoint());
    if (!a.allFinite()) return void(info.number(b) = -4);  // LAPACK's number of A
    const Index all = std::max(m, n);
    const Svd<T> svd = decompose<T>(std::move(a), mode == 'N' ? 0 : mode == 'A' ? all : k);
    if (!svd.converged) return void(info.number(b) = 1);
    values.vector(b) = svd.values;
    if (mode == 'N') return;
    u[b] = m >= n ? svd.u : svd.v;
    vh[b] = m >= n ? svd.v.adjoint() : svd.u.adjoint();
  });
}

#define INSTANTIATE(T) template Status gesdd<T>(const Call&);
TERCEL_LINALG_TYPES(INSTANTIATE)

}  // namespace tercel::linalg
