// The blocks of one or two rows on a Schur form's diagonal: how one of two rows is brought to its
// form, and how neighbours change places.
#pragma once
#include "runtime/linalg/reflectors.h"

namespace tercel::linalg {

// Where in a larger matrix t, with u for which u t u^H stays the same, a block is changed: rows
// from `top` and columns up to `right` are.
template <class T>
struct SchurPlace {
  MatrixX<T>& t;
  MatrixX<T>& u;  // without columns: none
  Index top = 0, right = 0;
};

// (x, y) becomes the first vector of the plane of i and i + 1; they have the norm 1.
template <class T>
void turnPlane(const SchurPlace<T>& place, Index i, T x, T y) {
  using Eigen::numext::conj;
  MatrixX<T>& t = place.t;
  for (Index j = i; j < place.right; ++j) {
    const T above = t(i, j), below = t(i + 1, j);
    t(i, j) = conj(x) * above + conj(y) * below;
    t(i + 1, j) = x * below - y * above;
  }
  const auto turn = [&](auto first, auto second) {
    const VectorX<T> old = first;
    first = old * x + second * y;
    second = second * conj(x) - old * conj(y);
  };
  const Index rows = i + 2 - place.top;
  turn(t.col(i).segment(place.top, rows), t.col(i + 1).segment(place.top, rows));
  if (place.u.cols() > 0) turn(place.u.col(i), place.u.col(i + 1));
}

// Rows i and i + 1 become triangular or, where a real matrix has complex eigenvalues, equal on the
// diagonal and of two signs beside it.
template <class T>
void formBlock(const SchurPlace<T>& place, Index i) {
  using R = Real<T>;
  using std::abs, std::sqrt;
  MatrixX<T>& t = place.t;
  if (t(i + 1, i) == T(0)) return;
  const R size = std::max({abs(t(i, i)), abs(t(i, i + 1)), abs(t(i + 1, i)), abs(t(i + 1, i + 1))});
  const T half = (t(i, i) / size - t(i + 1, i + 1) / size) / R(2);
  const T above = t(i, i + 1) / size, below = t(i + 1, i) / size;
  const T square = half * half + above * below;
  if constexpr (!kIsComplex<T>) {
    if (square < 0) {
      // Diagonals become equal: the plane turns until half is 0.
      const R sum = above + below;
      if (half != 0) {
        const R length = std::hypot(sum, 2 * half);
        const R c = sqrt((1 + abs(sum) / length) / 2);
        turnPlane<T>(place, i, c, -half / (length * c) * std::copysign(R(1), sum));
      }
      const R middle = (t(i, i) + t(i + 1, i + 1)) / 2;
      const bool is_pair = t(i, i + 1) != 0 && t(i + 1, i) != 0 &&
                           std::signbit(t(i, i + 1)) != std::signbit(t(i + 1, i));
      if (is_pair) t(i, i) = t(i + 1, i + 1) = middle;
      if (is_pair || t(i + 1, i) == 0) return;
      return formBlock(place, i);
    }
  }
  const T root = sqrt(square);
  const T sum = half + root, difference = half - root;
  const T far = abs(sum) >= abs(difference) ? sum : difference;
  // The eigenvector (far, below), of the eigenvalue that is further from the last element.
  const R length = std::hypot(abs(far), abs(below));
  if (!(length > 0)) return;
  turnPlane<T>(place, i, far / length, below / length);
  t(i + 1, i) = T(0);
}

// x for which a x - x b = c: a of p rows, b of q rows, each at most two.
template <class T>
MatrixX<T> solveSylvester(const MatrixX<T>& a, const MatrixX<T>& b, const MatrixX<T>& c) {
  const Index p = a.rows(), q = b.rows(), n = p * q;
  MatrixX<T> system = MatrixX<T>::Zero(n, n + 1);
  for (Index j = 0; j < q; ++j)
    for (Index i = 0; i < p; ++i) {
      const Index row = i + j * p;
      for (Index k = 0; k < p; ++k) system(row, k + j * p) += a(i, k);
      for (Index k = 0; k < q; ++k) system(row, i + k * p) -= b(k, j);
      system(row, n) = c(i, j);
    }
  const Real<T> least =
      std::max(std::numeric_limits<Real<T>>::epsilon() * c.cwiseAbs().maxCoeff(), kExact<Real<T>>);
  for (Index k = 0; k < n; ++k) {
    Index at;
    system.col(k).tail(n - k).cwiseAbs().maxCoeff(&at);
    system.row(k).swap(system.row(k + at));
    if (std::abs(system(k, k)) < least) system(k, k) = least;
    for (Index i = 0; i < n; ++i)
      if (i != k)
        system.row(i).tail(n - k) -= system(i, k) / system(k, k) * system.row(k).tail(n - k);
  }
  MatrixX<T> x(p, q);
  for (Index k = 0; k < n; ++k) x(k % p, k / p) = system(k, n) / system(k, k);
  return x;
}

// Blocks of p rows at i and of q rows below it change places: Bai and Demmel, 1993. False where
// that would change the eigenvalues by more than rounding does; they stay where they are then.
template <class T>
bool exchangeBlocks(const SchurPlace<T>& place, Index i, Index p, Index q) {
  MatrixX<T>& t = place.t;
  const Index size = p + q;
  MatrixX<T> small = t.block(i, i, size, size), none;
  // Of the second block's invariant subspace, made orthonormal.
  MatrixX<T> basis = MatrixX<T>::Identity(size, q);
  basis.topRows(p) = -solveSylvester<T>(small.topLeftCorner(p, p), small.bottomRightCorner(q, q),
                                        small.topRightCorner(p, q));
  basis.bottomRows(q).setIdentity();
  VectorX<T> taus(q);
  for (Index k = 0; k < q; ++k) {
    taus[k] = makeReflector<T>(basis.col(k).tail(size - k));
    for (Index j = k + 1; j < q; ++j)
      reflect(basis.col(k).tail(size - k), T(Eigen::numext::conj(taus[k])),
              basis.col(j).tail(size - k));
  }
  const auto apply = [&](const SchurPlace<T>& to, Index at) {
    for (Index k = 0; k < q; ++k) {
      const auto v = basis.col(k).tail(size - k);
      for (Index j = at; j < to.right; ++j)
        reflect(v, T(Eigen::numext::conj(taus[k])), to.t.col(j).segment(at + k, size - k));
      reflectRows<T>(v, taus[k], to.t.block(to.top, at + k, at + size - to.top, size - k));
      if (to.u.cols() > 0) reflectRows<T>(v, taus[k], to.u.middleCols(at + k, size - k));
    }
  };
  const Real<T> largest = small.cwiseAbs().maxCoeff();
  apply({small, none, 0, size}, 0);
  if (small.bottomLeftCorner(p, q).cwiseAbs().maxCoeff() >
      20 * std::numeric_limits<Real<T>>::epsilon() * largest)
    return false;
  apply(place, i);
  t.block(i + q, i, p, q).setZero();
  if (q == 2) formBlock(place, i);
  if (p == 2) formBlock(place, i + q);
  return true;
}

// Rows of the block that ends before row `end` and begins at `begin` or later.
template <class T>
Index blockSize(const MatrixX<T>& t, Index begin, Index end) {
  return end - begin > 1 && t(end - 1, end - 2) != T(0) ? 2 : 1;
}

// The block of `size` rows at `from` moves up to `to`; false where it stays below.
template <class T>
bool moveBlockUp(const SchurPlace<T>& place, Index from, Index size, Index to) {
  while (from > to) {
    const Index above = blockSize(place.t, to, from);
    if (!exchangeBlocks(place, from - above, above, size)) return false;
    from -= above;
  }
  return true;
}

}  // namespace tercel::linalg
