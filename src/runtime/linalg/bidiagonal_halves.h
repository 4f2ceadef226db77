// Singular values and vectors of bidiagonal matrices by divide and conquer: Gu and Eisenstat, 1995.
#pragma once
#include "runtime/linalg/bidiagonal.h"
#include "runtime/linalg/halves.h"

namespace tercel::linalg {

// The matrix has the diagonal d and e above it, of the order of 1; its singular values, falling,
// replace d, and it was left() diag(d) right()^T.
template <class R>
class BidiagonalHalves {
 public:
  BidiagonalHalves(VectorX<R>& d, VectorX<R>& e)
      : d_(d),
        e_(e),
        u_(MatrixX<R>::Zero(d.size(), d.size())),
        v_(MatrixX<R>::Zero(d.size(), d.size())) {}

  // False where it does not converge.
  bool run() {
    if (!solve(0, d_.size(), 0)) return false;
    d_.reverseInPlace();
    u_ = u_.rowwise().reverse().eval();
    v_ = v_.rowwise().reverse().eval();
    return true;
  }
  const MatrixX<R>& left() const { return u_; }
  const MatrixX<R>& right() const { return v_; }

 private:
  // Rows [first, first + size) and one column more than rows where extra is 1: the last column of v
  // is multiplied by nothing then. Values rise.
  bool solve(Index first, Index size, Index extra) {
    if (size <= kUndivided) return solveSmall(first, size, extra);
    const Index half = size / 2, middle = first + half;
    if (!solve(first, half, 1) || !solve(middle + 1, size - half - 1, extra)) return false;
    join(first, half, size, extra);
    return true;
  }

  bool solveSmall(Index first, Index size, Index extra) {
    const Index cols = size + extra;
    VectorX<R> d = d_.segment(first, size), e = e_.segment(first, cols - 1);
    MatrixX<R> all = MatrixX<R>::Identity(cols, cols);
    const auto turn = [&](Index x, Index y, R c, R s) { turnColumns<R>(all, x, y, c, s); };
    if (extra) clearLastColumn(d, e, 0, size, turn);
    MatrixX<R> u = MatrixX<R>::Identity(size, size), v = all.leftCols(size);
    VectorX<R> above = e.head(size - 1);
    if (!diagonalize<R>(d, above, u, v)) return false;
    d_.segment(first, size) = d.reverse();
    u_.block(first, first, size, size) = u.rowwise().reverse();
    MatrixRef<R> to = v_.block(first, first, cols, cols);
    to = all;
    to.leftCols(size) = v.rowwise().reverse();
    return true;
  }
  // Between two halves is a row with two numbers. In the halves' columns it is z, and all is this
  // row above diag(d), where the row's own value is 0.
  void join(Index first, Index half, Index size, Index extra) {
    const Index middle = first + half, last = size + extra - 1;
    const R alpha = d_[middle], beta = e_[middle];
    MatrixRef<R> u = u_.block(first, first, size, size);
    MatrixRef<R> v = v_.block(first, first, size + extra, size + extra);
    u(half, half) = 1;
    VectorX<R> row(size + extra);
    row << alpha * v.row(half).head(half + 1).transpose(),
        beta * v.row(half + 1).tail(size + extra - half - 1).transpose();
    if (extra) {
      const Rotation<R> turn(row[half], row[last]);
      turnColumns<R>(v, half, last, turn.c, turn.s);
      row[half] = turn.size;
    }
    d_[middle] = 0;
    auto d = d_.segment(first, size);
    const R largest = std::max({d.maxCoeff(), std::abs(alpha), std::abs(beta)});
    if (largest == 0) return;
    const R scale = std::ldexp(R(1), std::ilogb(largest));  // so that squares are near 1
    d /= scale;
    Halves<R> halves(d, half);
    halves.z() = row.head(size) / scale;
    const R negligible = negligibleBeside(largest / scale);
    if (std::abs(halves.z()[half]) <= negligible) halves.z()[half] = negligible;
    halves.keepFirst(half);
    halves.deflate(1, negligible, [&](Index x, Index y, R c, R s) {
      turnColumns<R>(u, x, y, c, s);
      turnColumns<R>(v, x, y, c, s);
    });
    const SecularEquation<R> equation = halves.equationOfSquares(negligible / 2);
    halves.settle(equation.roots());
    halves.combine(equation.vectors(), half + 1, v);
    halves.combine(equation.leftVectors(), half + 1, u);
    d *= scale;
  }

  VectorX<R>& d_;
  VectorX<R>& e_;
  MatrixX<R> u_, v_;
};

}  // namespace tercel::linalg
