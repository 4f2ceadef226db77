// Eigenvalues of symmetric tridiagonal matrices, by the QR iteration with implicit shifts of
// Wilkinson, 1968.
#pragma once
#include "runtime/linalg/rotations.h"
#include "runtime/linalg/tridiagonal_values.h"

namespace tercel::linalg {

// The matrix has the diagonal d and e beside it, of the order of 1; its eigenvalues replace d.
template <class T>
class SymmetricTridiagonal {
 public:
  using R = Real<T>;
  SymmetricTridiagonal(VectorX<R>& d, VectorX<R>& e, ColumnRotations<T>& vectors)
      : d_(d), e_(e), vectors_(vectors) {}

  // False where it does not converge.
  bool run() {
    constexpr Index kMost = 30;  // steps for each eigenvalue; two are usual
    return deflate(
        d_.size(), e_, kMost, [this](Index i) { return isNegligible(i); },
        [this](Index first, Index last) { step(first, last); }, [](Index) {});
  }

 private:
  // Of the element between rows i and i + 1; NaN is, so that every run ends.
  bool isNegligible(Index i) const {
    constexpr R epsilon = std::numeric_limits<R>::epsilon();
    const R size = std::abs(e_[i]), beside = std::abs(d_[i]) + std::abs(d_[i + 1]);
    return !(size >= kExact<R> && size / epsilon * (size / epsilon) > beside);
  }

  void step(Index first, Index last) {
    R f = d_[first] - nearerEigenvalue(d_[last - 1], e_[last - 1], d_[last]), g = e_[first];
    vectors_.begin(first);
    for (Index k = first; k < last; ++k) {
      const Rotation<R> turn(f, g);
      const R c = turn.c, s = turn.s;
      if (k > first) e_[k - 1] = turn.size;
      const R above = c * d_[k] + s * e_[k], across = c * e_[k] + s * d_[k + 1];
      const R below = c * e_[k] - s * d_[k], end = c * d_[k + 1] - s * e_[k];
      d_[k] = c * above + s * across;
      d_[k + 1] = c * end - s * below;
      f = e_[k] = c * across - s * above;
      if (k + 1 < last) {
        g = s * e_[k + 1];
        e_[k + 1] *= c;
      }
      vectors_.add(c, s);
    }
  }

  VectorX<R>& d_;
  VectorX<R>& e_;
  ColumnRotations<T>& vectors_;
};

// d becomes the eigenvalues, rising. False where it does not converge.
template <class R>
bool findValues(VectorX<R>& d, VectorX<R>& e) {
  if (!TridiagonalValues<R>(d, e).run()) return false;
  std::sort(d.data(), d.data() + d.size());
  return true;
}
// The same, and vectors becomes its product with the matrix's.
template <class T>
bool diagonalize(VectorX<Real<T>>& d, VectorX<Real<T>>& e, MatrixX<T>& vectors) {
  ColumnRotations<T> rotations(vectors);
  if (!SymmetricTridiagonal<T>(d, e, rotations).run()) return false;
  rotations.flush();
  for (Index i = 0; i < d.size(); ++i) {
    Index at;
    d.tail(d.size() - i).minCoeff(&at);
    if (at == 0) continue;
    std::swap(d[i], d[i + at]);
    vectors.col(i).swap(vectors.col(i + at));
  }
  return true;
}

}  // namespace tercel::linalg
