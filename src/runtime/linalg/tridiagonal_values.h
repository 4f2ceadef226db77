// Eigenvalues alone of symmetric tridiagonal matrices: the QR iteration on the squares of what is
// beside the diagonal, so that a step takes no roots. Pal, Walker and Kahan, in Parlett, 1980.
#pragma once
#include "runtime/linalg/eigen.h"

namespace tercel::linalg {

// The matrix has the diagonal d and e beside it, of the order of 1; its eigenvalues replace d.
template <class R>
class TridiagonalValues {
 public:
  TridiagonalValues(VectorX<R>& d, VectorX<R>& e) : d_(d), squares_(e) { squares_ = e.cwiseAbs2(); }

  // False where it does not converge.
  bool run() {
    constexpr Index kMaxSteps = 30;  // for each eigenvalue; two are usual
    Index steps = kMaxSteps * d_.size();
    for (Index last = d_.size() - 1; last > 0;) {
      const Index first = startOf(last);
      if (first == last) {
        --last;
      } else {
        if (steps-- == 0) return false;
        step(first, last);
      }
    }
    return true;
  }

 private:
  // Of the block that ends at `last`: in it no square is negligible.
  Index startOf(Index last) {
    constexpr R epsilon = std::numeric_limits<R>::epsilon();
    for (Index i = last; i-- > 0;) {
      const R beside = std::abs(d_[i]) + std::abs(d_[i + 1]);
      if (squares_[i] >= kExact<R> && squares_[i] > epsilon * epsilon * beside) continue;
      squares_[i] = 0;
      return i + 1;
    }
    return 0;
  }

  // The eigenvalue of the last two rows that is nearer to the last element.
  R shift(Index last) const {
    const R half = (d_[last - 1] - d_[last]) / 2, beside = std::sqrt(squares_[last - 1]);
    const R size = std::hypot(half, beside);
    return d_[last] - beside / ((half + std::copysign(size, half)) / beside);
  }

  void step(Index first, Index last) {
    const R sigma = shift(last);
    R c = 1, s = 0, gamma = d_[first] - sigma, p = gamma * gamma;
    for (Index i = first; i < last; ++i) {
      const R square = squares_[i], sum = p + square, inverse = 1 / sum;
      if (i > first) squares_[i - 1] = s * sum;
      const R before = c, gamma_before = gamma, next = d_[i + 1];
      c = p * inverse;
      s = square * inverse;
      gamma = c * (next - sigma) - s * gamma_before;
      d_[i] = gamma_before + (next - gamma);
      p = c != 0 ? gamma * gamma / c : before * square;
    }
    squares_[last - 1] = s * p;
    d_[last] = sigma + gamma;
  }

  VectorX<R>& d_;
  VectorX<R>& squares_;
};

}  // namespace tercel::linalg
