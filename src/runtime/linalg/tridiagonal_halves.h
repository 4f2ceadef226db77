// Eigenvalues and eigenvectors of symmetric tridiagonal matrices by divide and conquer: Cuppen,
// 1981; Gu and Eisenstat, 1995.
#pragma once
#include "runtime/linalg/halves.h"
#include "runtime/linalg/symmetric_tridiagonal.h"

namespace tercel::linalg {

// The matrix has the diagonal d and e beside it, of the order of 1; its eigenvalues, rising,
// replace d, and vectors() are theirs.
template <class R>
class TridiagonalHalves {
 public:
  TridiagonalHalves(VectorX<R>& d, VectorX<R>& e)
      : d_(d), e_(e), q_(MatrixX<R>::Zero(d.size(), d.size())) {}

  // False where it does not converge.
  bool run() { return solve(0, d_.size()); }
  const MatrixX<R>& vectors() const { return q_; }

 private:
  bool solve(Index first, Index size) {
    if (size <= kUndivided) return solveSmall(first, size);
    const Index half = size / 2, middle = first + half;
    const R beside = e_[middle - 1];
    d_[middle - 1] -= std::abs(beside);
    d_[middle] -= std::abs(beside);
    if (!solve(first, half) || !solve(middle, size - half)) return false;
    join(first, half, size, beside);
    return true;
  }
  bool solveSmall(Index first, Index size) {
    VectorX<R> d = d_.segment(first, size), e = e_.segment(first, size - 1);
    MatrixX<R> vectors = MatrixX<R>::Identity(size, size);
    if (!diagonalize<R>(d, e, vectors)) return false;
    d_.segment(first, size) = d;
    q_.block(first, first, size, size) = vectors;
    return true;
  }
  // What stands between two halves is of rank one: rho z z^T, the length of z being 1.
  void join(Index first, Index half, Index size, R beside) {
    MatrixRef<R> q = q_.block(first, first, size, size);
    Halves<R> halves(d_.segment(first, size), half);
    VectorX<R>& z = halves.z();
    z.head(half) = q.row(half - 1).head(half) * R(M_SQRT1_2);
    z.tail(size - half) = q.row(half).tail(size - half) * std::copysign(R(M_SQRT1_2), beside);
    const R rho = 2 * std::abs(beside);
    const R largest = std::max(halves.d().cwiseAbs().maxCoeff(), z.cwiseAbs().maxCoeff());
    halves.deflate(rho, negligibleBeside(largest),
                   [&](Index x, Index y, R c, R s) { turnColumns<R>(q, x, y, c, s); });
    const SecularEquation<R> equation = halves.equation(rho);
    halves.settle(equation.roots());
    halves.combine(equation.vectors(), half, q);
  }

  VectorX<R>& d_;
  VectorX<R>& e_;
  MatrixX<R> q_;
};

}  // namespace tercel::linalg
