// Eigenvalues of Hermitian matrices, and the tridiagonal matrices that they are found from.
#include "runtime/linalg/reflector_block.h"
#include "runtime/linalg/side_by_side.h"
#include "runtime/linalg/symmetric_tridiagonal.h"
#include "runtime/linalg/tridiagonal_halves.h"

namespace tercel::linalg {
namespace {

template <class T>
using RealVectorRef = Eigen::Ref<VectorX<Real<T>>>;
template <class T>
using VectorRef = Eigen::Ref<VectorX<T>>;

// What a panel's reflectors change in the rows from its first on: a -= left right^H, where left has
// v(0) w(0) v(1) w(1) ... and right w(0) v(0) w(1) v(1) ...
template <class T>
struct Panel {
  MatrixX<T> left, right;
  VectorX<T> product;
  Index pairs = 0;

  Panel(Index rows, Index most)
      : left(MatrixX<T>::Zero(rows, 2 * most)), right(left), product(2 * most) {}

  // x -= left right^H y, of the rows from `row` on.
  void apply(Index row, const T* y, T* x) {
    const Index rows = left.rows() - row;
    product.head(2 * pairs).setZero();
    addAdjointProduct<T>(right.block(row, 0, rows, 2 * pairs), y, 1, product.data());
    addProduct<T>(left.block(row, 0, rows, 2 * pairs), product.data(), -1, x);
  }
  void applyToColumn(Index row, T* x) {
    for (Index i = 0; i < 2 * pairs; ++i) product[i] = Eigen::numext::conj(right(row, i));
    addProduct<T>(left.block(row, 0, left.rows() - row, 2 * pairs), product.data(), -1, x);
  }
  void append(const VectorRef<T>& v, const VectorRef<T>& w) {
    left.col(2 * pairs).tail(v.size()) = right.col(2 * pairs + 1).tail(v.size()) = v;
    left.col(2 * pairs + 1).tail(v.size()) = right.col(2 * pairs).tail(v.size()) = w;
    ++pairs;
  }
};

// a = Q t Q^H, by a's lower triangle: t's diagonals, and Q as reflectors on the rows from 1 on, as
// LAPACK's hetrd with uplo = L.
template <class T>
struct TridiagonalForm {
  MatrixRef<T> a;
  RealVectorRef<T> d, e;
  Eigen::Ref<VectorX<T>> taus;

  // Column k, which has seen all reflectors before its own: v, without elements after the last one.
  void takeColumn(Index k, VectorRef<T> v) {
    const Index rest = v.size();
    d[k] = Eigen::numext::real(a(k, k));
    a(k, k) = d[k];
    if (rest == 0) return;
    taus[k] = makeReflector<T>(a.col(k).tail(rest));
    e[k] = Eigen::numext::real(a(k + 1, k));
    v = a.col(k).tail(rest);
    v[0] = T(1);
  }
  // w = a v becomes that for which a changes by -v w^H - w v^H.
  void finishProduct(Index k, const VectorRef<T>& v, VectorRef<T> w) const {
    w *= taus[k];
    w += v * (T(-0.5) * taus[k] * w.dot(v));
  }
};

// A reflector at a time, of a matrix that stays near.
template <class T>
void tridiagonalizeNear(TridiagonalForm<T> form) {
  MatrixRef<T>& a = form.a;
  const Index n = a.rows();
  VectorX<T> all_v(n), all_w(n);  // never resized: Eigen could not, where there is no memory
  for (Index k = 0; k < n; ++k) {
    const Index rest = n - k - 1;
    VectorRef<T> v = all_v.head(rest), w = all_w.head(rest);
    form.takeColumn(k, v);
    if (rest == 0) return;
    MatrixRef<T> left = a.bottomRightCorner(rest, rest);
    w.setZero();
    addHermitianProduct<T>(left, v.data(), 1, w.data());
    form.finishProduct(k, v, w);
    dense::addRankTwo<T>({rest, v.data(), w.data(), left.data(), left.outerStride()});
  }
}

template <class T>
void tridiagonalize(TridiagonalForm<T> form) {
  MatrixRef<T>& a = form.a;
  const Index n = a.rows();
  if (staysNearBothWays<T>(a)) return tridiagonalizeNear<T>(form);
  VectorX<T> all_v(n), all_w(n);
  for (Index first = 0; first < n; first += kPanel) {
    const Index end = std::min(first + kPanel, n);
    Panel<T> panel(n - first, end - first);
    for (Index k = first; k < end; ++k) {
      const Index rest = n - k - 1;
      VectorRef<T> v = all_v.head(rest), w = all_w.head(rest);
      panel.applyToColumn(k - first, &a(k, k));
      form.takeColumn(k, v);
      if (rest == 0) return;
      w.setZero();
      addHermitianProduct<T>(a.bottomRightCorner(rest, rest), v.data(), 1, w.data());
      panel.apply(k + 1 - first, v.data(), w.data());
      form.finishProduct(k, v, w);
      panel.append(v, w);
    }
    const Index rest = n - end;
    addProduct<T>(operand<T>(panel.left.bottomRows(rest)),
                  operand<T>(panel.right.bottomRows(rest)).adjoint(), -1,
                  a.bottomRightCorner(rest, rest), Part::lower);
  }
}

// Of a matrix in a's lower triangle; or, in reverse, of one whose upper triangle, backwards, it is.
// Eigenvectors in a where asked for; false where it does not converge.
template <class T>
bool findEigenvalues(MatrixX<T>& a, bool in_reverse, bool has_vectors, RealVectorRef<T> values) {
  const Index n = a.rows();
  a.template triangularView<Eigen::StrictlyUpper>().setZero();
  if (!a.allFinite()) return false;
  const Real<T> scale = scaleOf<T>(a);
  a = a / scale;
  VectorX<Real<T>> d(n), e(n - 1);
  VectorX<T> taus(n - 1);
  tridiagonalize<T>({a, d, e, taus});
  auto turnAround = [&](MatrixX<T>& vectors) {
    if (in_reverse) vectors = vectors.reverse().eval();
  };
  if (in_reverse) {
    d.reverseInPlace();
    e.reverseInPlace();
  }
  bool converged;
  if (!has_vectors) {
    converged = findValues<Real<T>>(d, e);
  } else if (n <= kUndivided) {
    a = orthogonalBelow<T>(a.bottomLeftCorner(n - 1, n - 1), taus);
    turnAround(a);
    converged = diagonalize<T>(d, e, a);
  } else {
    TridiagonalHalves<Real<T>> halves(d, e);
    converged = halves.run();
    MatrixX<T> vectors = halves.vectors().template cast<T>();
    turnAround(vectors);
    applyBlocks<T>(a.bottomLeftCorner(n - 1, n - 1), taus, false, vectors.bottomRows(n - 1));
    turnAround(vectors);
    a.swap(vectors);
  }
  values = d * scale;
  return converged;
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
  const double cost = 9.0 * n * n * n;
  if (n == 1) {  // whatever it is
    for (Index b = 0; b < arguments.batch(); ++b) {
      values.vector(b)(0) = std::real(in[b](0, 0));
      out[b](0, 0) = T(1);
      info.number(b) = 0;
    }
    return {};
  }
  if (n > 0 && n <= kUndivided && isBatchForRotations(*call.signature, kIsComplex<T> ? 3 : 4)) {
    arguments.copy(0, 0);
    const lanes::Job<T> job{.a = out.data,
                            .values = values.data,
                            .has_vectors = has_vectors,
                            .info = info.data,
                            .n = n,
                            .triangle = {.lower = lower}};
    return forEachInLanes<T>(call, arguments.batch(), cost, (2 * n + 6) * n, job, lanes::syevd<T>);
  }
  return forEachIn(call, arguments.batch(), cost, [&](Index b) {
    info.number(b) = 0;
    if (n == 0) return;
    MatrixX<T> a = lower ? MatrixX<T>(in[b]) : MatrixX<T>(in[b].reverse());
    if (!findEigenvalues<T>(a, !lower, has_vectors, values.vector(b))) info.number(b) = 1;
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
    if (lower) return tridiagonalize<T>({out[b], d.vector(b), e.vector(b), taus.vector(b)});
    // Backwards, the upper triangle is a lower one.
    MatrixX<T> a = out[b].reverse();
    VectorX<Real<T>> diagonal(n), beside(k);
    VectorX<T> factors(k);
    tridiagonalize<T>({a, diagonal, beside, factors});
    out[b] = a.reverse();
    d.vector(b) = diagonal.reverse();
    e.vector(b) = beside.reverse();
    taus.vector(b) = factors.reverse();
  });
}

#define INSTANTIATE(T)                   \
  template Status syevd<T>(const Call&); \
  template Status sytrd<T>(const Call&);
TERCEL_LINALG_TYPES(INSTANTIATE)

}  // namespace tercel::linalg
