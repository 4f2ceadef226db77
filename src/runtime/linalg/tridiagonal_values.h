// Eigenvalues alone of symmetric tridiagonal matrices: the QR iteration on the squares of what is
// beside the diagonal, so that a step takes no roots. Pal, Walker and Kahan, in Parlett, 1980.
#pragma once
#include "runtime/linalg/deflate.h"

namespace tercel::linalg {

// The matrix has the diagonal d and e beside it, of the order of 1; its eigenvalues replace d.
template <class R>
class TridiagonalValues {
 public:
  TridiagonalValues(VectorX<R>& d, VectorX<R>& e) : d_(d), squares_(e) { squares_ = e.cwiseAbs2(); }

  // False where it does not converge.
  bool run() {
    constexpr Index kMost = 30;  // steps for each eigenvalue; two are usual
    return deflate(
        d_.size(), squares_, kMost, [this](Index i) { return isNegligible(i); },
        [this](Index first, Index last) { step(first, last); }, [](Index) {});
  }

 private:
  // Of the element between rows i and i + 1; NaN is, so that every run ends.
  bool isNegligible(Index i) const {
    constexpr R epsilon = std::numeric_limits<R>::epsilon();
    const R beside = std::abs(d_[i]) + std::abs(d_[i + 1]);
    return !(squares_[i] >= kExact<R> && squares_[i] > epsilon * epsilon * beside);
  }

  void step(Index first, Index last) {
    const R sigma = nearerEigenvalue(d_[last - 1], std::sqrt(squares_[last - 1]), d_[last]);
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
