// Singular values: a matrix is made bidiagonal by reflectors, and that diagonal by halves, or by
// rotations.
#include "runtime/linalg/bidiagonal_halves.h"
#include "runtime/linalg/orthogonal.h"
#include "runtime/linalg/reflector_block.h"
#include "runtime/linalg/side_by_side.h"

namespace tercel::linalg {
namespace {

template <class T>
struct Svd {
  MatrixX<T> u, v;
  VectorX<Real<T>> values;  // falling
  bool converged = false;
};

template <class T>
using VectorRef = Eigen::Ref<VectorX<T>>;

// What a panel's reflectors change in the rows and columns from its first on: a -= left right^H.
// Those of columns are v in left and what it is multiplied by in right, those of rows the reverse.
template <class T>
struct Panel {
  MatrixX<T> left, right;
  VectorX<T> product;
  Index terms = 0;

  Panel(Index rows, Index cols, Index most)
      : left(MatrixX<T>::Zero(rows, 2 * most)),
        right(MatrixX<T>::Zero(cols, 2 * most)),
        product(2 * most) {}

  // x -= to from^H y, of the last rows of both
  void apply(const MatrixX<T>& to, const MatrixX<T>& from, const VectorRef<T>& y, VectorRef<T> x) {
    product.head(terms).setZero();
    addAdjointProduct<T>(from.bottomLeftCorner(y.size(), terms), y.data(), 1, product.data());
    addProduct<T>(to.bottomLeftCorner(x.size(), terms), product.data(), -1, x.data());
  }
  // x -= to from(row)^H, of the last rows of `to`
  void applyRow(const MatrixX<T>& to, const MatrixX<T>& from, Index row, VectorRef<T> x) {
    for (Index i = 0; i < terms; ++i) product[i] = Eigen::numext::conj(from(row, i));
    addProduct<T>(to.bottomLeftCorner(x.size(), terms), product.data(), -1, x.data());
  }
  void append(const VectorRef<T>& of_left, const VectorRef<T>& of_right) {
    left.col(terms).tail(of_left.size()) = of_left;
    right.col(terms++).tail(of_right.size()) = of_right;
  }
};

// The reflector of x: v, with 1 first, replaces it, and beta what it was.
template <class T>
T takeReflector(VectorRef<T> x, Real<T>& beta) {
  const T tau = makeReflector<T>(x);
  beta = Eigen::numext::real(x[0]);
  x[0] = T(1);
  return tau;
}

// a = Q b P^H with an upper bidiagonal b: its diagonals, and the reflectors of Q in a's columns, of
// P in those of `rows`. A reflector at a time, of a matrix that stays near.
template <class T>
void bidiagonalizeNear(MatrixRef<T> a, VectorX<Real<T>>& d, VectorX<Real<T>>& e, VectorX<T>& left,
                       VectorX<T>& right, MatrixX<T>& rows) {
  const Index m = a.rows(), n = a.cols();
  for (Index j = 0; j < n; ++j) {
    const Index rest = n - j - 1, below = m - j - 1;
    auto v = a.col(j).tail(below + 1);
    left[j] = makeReflector<T>(v);
    d[j] = Eigen::numext::real(v[0]);
    if (rest == 0) return;
    reflectColumns<T>(v, Eigen::numext::conj(left[j]), a.bottomRightCorner(below + 1, rest));
    auto u = rows.col(j).tail(rest);
    u = a.row(j).tail(rest).adjoint();
    right[j] = makeReflector<T>(u);
    e[j] = Eigen::numext::real(u[0]);
    reflectRows<T>(u, right[j], a.bottomRightCorner(below, rest));
  }
}

// The same of any matrix.
template <class T>
void bidiagonalize(MatrixRef<T> a, VectorX<Real<T>>& d, VectorX<Real<T>>& e, VectorX<T>& left,
                   VectorX<T>& right, MatrixX<T>& rows) {
  const Index m = a.rows(), n = a.cols();
  if (staysNearBothWays<T>(a)) return bidiagonalizeNear<T>(a, d, e, left, right, rows);
  // Never resized: Eigen could not, where there is no memory.
  VectorX<T> all_v(m), all_y(n), all_u(n), all_x(m);
  for (Index first = 0; first < n; first += kPanel) {
    const Index end = std::min(first + kPanel, n);
    Panel<T> panel(m - first, n - first, end - first);
    for (Index j = first; j < end; ++j) {
      const Index rest = n - j - 1, below = m - j - 1;
      VectorRef<T> v = all_v.head(below + 1), y = all_y.head(rest);
      VectorRef<T> u = all_u.head(rest), x = all_x.head(below);
      v = a.col(j).tail(below + 1);
      panel.applyRow(panel.left, panel.right, j - first, v);
      left[j] = takeReflector<T>(v, d[j]);
      a.col(j).tail(below + 1) = v;
      if (rest == 0) return;
      y.setZero();
      addAdjointProduct<T>(a.block(j, j + 1, below + 1, rest), v.data(), 1, y.data());
      panel.apply(panel.right, panel.left, v, y);
      y *= left[j];
      panel.append(v, y);
      u = a.row(j).tail(rest).adjoint();
      panel.applyRow(panel.right, panel.left, j - first, u);
      right[j] = takeReflector<T>(u, e[j]);
      rows.col(j).tail(rest) = u;
      x.setZero();
      addProduct<T>(a.bottomRightCorner(below, rest), u.data(), 1, x.data());
      panel.apply(panel.left, panel.right, u, x);
      x *= right[j];
      panel.append(x, u);
    }
    addProduct<T>(operand<T>(panel.left.bottomRows(m - end)),
                  operand<T>(panel.right.bottomRows(n - end)).adjoint(), -1,
                  a.bottomRightCorner(m - end, n - end));
  }
}

// Q (u 0; 0 1), of which `columns` columns, by the reflectors in a's columns.
template <class T>
MatrixX<T> extended(const MatrixX<T>& a, const VectorX<T>& taus, const MatrixX<T>& u,
                    Index columns) {
  MatrixX<T> all = MatrixX<T>::Identity(a.rows(), columns);
  all.topLeftCorner(u.rows(), u.cols()) = u;
  applyBlocks<T>(a, taus, false, all);
  return all;
}

// What a matrix whose bidiagonal one is transposed was multiplied by, with turnToUpper's rotations.
template <class T>
void turnColumnsBack(const VectorX<Real<T>>& turns, MatrixX<T>& vectors) {
  ColumnRotations<T> rotations(vectors);
  rotations.begin(0);
  for (Index i = 0; i < turns.size(); i += 2) rotations.add(turns[i], turns[i + 1]);
  rotations.flush();
}
template <class R>
void turnRowsBack(const VectorX<R>& turns, MatrixX<R>& vectors) {
  for (Index j = 0; j < vectors.cols(); ++j)
    for (Index i = vectors.rows() - 1; i-- > 0;) {
      const R c = turns[2 * i], s = turns[2 * i + 1], x = vectors(i, j), y = vectors(i + 1, j);
      vectors(i + 1, j) = c * y + s * x;
      vectors(i, j) = c * x - s * y;
    }
}

// Of a matrix of no more columns than rows, of the order of 1: a = u diag(values) v^H,
// where u has `columns` columns; 0: neither u nor v. The adjoint is what is asked for where
// `is_turned`: signs are as in LAPACK, which makes the bidiagonal matrix of one of more columns
// than rows an upper one by rotations.
template <class T>
Svd<T> decompose(MatrixX<T>& a, Index columns, bool is_turned) {
  using R = Real<T>;
  const Index m = a.rows(), n = a.cols();
  Svd<T> svd;
  VectorX<R> d(n), e(n - 1), turns;
  VectorX<T> left(n), right(n - 1);
  MatrixX<T> rows(n - 1, n - 1);
  bidiagonalize<T>(a, d, e, left, right, rows);
  if (is_turned && columns > 0) turns = turnToUpper<R>(d, e);
  if (columns == 0) {
    svd.converged = findSingularValues<R>(d, e);
  } else if (n <= kUndivided) {
    svd.u.resize(m, columns);
    makeOrthogonal<T>(a, left, svd.u);
    svd.v = orthogonalBelow<T>(rows, right);
    if (is_turned) turnColumnsBack<T>(turns, svd.v);
    svd.converged = is_turned ? diagonalize<T>(d, e, svd.v, svd.u)
                              : diagonalize<T>(d, e, svd.u, svd.v);
  } else {
    BidiagonalHalves<R> halves(d, e);
    svd.converged = halves.run();
    MatrixX<R> of_u = halves.left(), of_v = halves.right();
    if (is_turned) {
      turnRowsBack<R>(turns, of_u);
      of_u.swap(of_v);
    }
    svd.u = extended<T>(a, left, of_u.template cast<T>(), columns);
    svd.v = of_v.template cast<T>();
    applyBlocks<T>(rows, right, false, svd.v.bottomRows(n - 1));
  }
  svd.values = d;
  return svd;
}

// The same of any such matrix.
template <class T>
Svd<T> decomposeScaled(MatrixX<T> a, Index columns, bool is_turned) {
  const Index m = a.rows(), n = a.cols();
  const Real<T> scale = scaleOf<T>(a);
  a = a / scale;
  Svd<T> svd;
  if (!lanes::isTall(m, n, kIsComplex<T>)) {
    svd = decompose<T>(a, columns, is_turned);
  } else {
    VectorX<T> taus(n);
    factorOrthogonal<T>(a, taus);
    MatrixX<T> triangle = a.topRows(n).template triangularView<Eigen::Upper>();
    if (is_turned) triangle = triangle.adjoint().eval();
    svd = decompose<T>(triangle, columns == 0 ? 0 : n, false);
    if (is_turned) svd.u.swap(svd.v);
    if (columns > 0) svd.u = extended<T>(a, taus, svd.u, columns);
  }
  svd.values *= scale;
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
  const Batch<T> copy = arguments.result<T>(0, {m, n});
  const Batch<Real<T>> values = arguments.result<Real<T>>(1, {k});
  Batch<T> u, vh;
  if (mode != 'N') {
    u = arguments.result<T>(2, {m, columns});
    vh = arguments.result<T>(3, {vector_rows, n});
  }
  const Batch<int32_t> info = arguments.result<int32_t>(4, {});
  TERCEL_TRY(arguments.status());
  const double cost = 12.0 * m * n * k;
  const double worth = mode == 'N' ? 2.5 : kIsComplex<T> ? 3 : 4;
  if (k > 0 && k <= kUndivided && isBatchForRotations(*call.signature, worth)) {
    const Index side = std::max(m, n);
    arguments.copy(0, 0);
    const lanes::Job<T> job{.a = copy.data,
                            .values = values.data,
                            .u = u.data,
                            .vh = vh.data,
                            .has_vectors = mode != 'N',
                            .info = info.data,
                            .m = m,
                            .n = n,
                            .k = mode == 'A' ? side : k};
    const Index numbers = 2 * side * side + 4 * k * k + 9 * k;
    return forEachInLanes<T>(call, arguments.batch(), cost, numbers, job, lanes::gesdd<T>);
  }
  return forEachIn(call, arguments.batch(), cost, [&](Index b) {
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
    const Index of_u = mode == 'N' ? 0 : mode == 'A' ? all : k;
    const Svd<T> svd = decomposeScaled<T>(std::move(a), of_u, m < n);
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
