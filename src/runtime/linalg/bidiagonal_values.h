// Singular values alone of bidiagonal matrices, by differential quotients and differences with
// shifts: Fernando and Parlett, 1994, and the shifts of Parlett and Marques, 2000.
#pragma once
#include "runtime/linalg/deflate.h"

namespace tercel::linalg {

// The matrix has the diagonal d and e above it, of the order of 1; its singular values replace d.
template <class R>
class BidiagonalValues {
 public:
  BidiagonalValues(VectorX<R>& d, const VectorX<R>& e)
      : values_(d),
        q_(d.cwiseAbs2()),
        e_(e.cwiseAbs2()),
        next_q_(d.size()),
        next_e_(e.size()),
        sums_(VectorX<R>::Zero(d.size())),
        pivots_(VectorX<R>::Zero(d.size())) {}

  // False where it does not converge.
  bool run() {
    constexpr Index kMost = 60;  // steps for each singular value; three are usual
    return deflate(
        q_.size(), e_, kMost, [this](Index i) { return isNegligible(i); },
        [this](Index first, Index last) { step(first, last); },
        [this](Index last) { values_[last] = std::sqrt(q_[last] + sums_[last]); });
  }

 private:
  // Of the element between rows i and i + 1; NaN is, so that every run ends.
  bool isNegligible(Index i) const {
    constexpr R kTolerance = 4 * std::numeric_limits<R>::epsilon();
    const R beside = std::max(q_[i], q_[i + 1] + sums_[i + 1]);
    return !(e_[i] >= kExact<R> && e_[i] > kTolerance * kTolerance * beside);
  }

  void step(Index first, Index last) {
    R tau = shift(first, last);
    for (int tries = 0; !transform(first, last, tau); ++tries) {
      // The last pivot alone is negative where the shift is the smallest eigenvalue, almost.
      const R nearer = tau + pivots_[last];
      const bool is_late = failed_ == last && nearer > 0 && tries == 0;
      tau = tries > 1 ? R(0)
            : is_late ? nearer * (1 - 4 * std::numeric_limits<R>::epsilon())
                      : tau / 4;
    }
    const Index size = last - first;
    q_.segment(first, size + 1) = next_q_.segment(first, size + 1);
    e_.segment(first, size) = next_e_.segment(first, size);
    sums_.segment(first, size + 1).array() += tau;
  }

  // False where a pivot is negative, which those without a shift are not.
  bool transform(Index first, Index last, R tau) {
    R pivot = q_[first] - tau;
    for (Index i = first; i < last; ++i) {
      pivots_[i] = pivot;
      if (pivot < 0) return fail(i);
      const R sum = pivot + e_[i], ratio = q_[i + 1] / sum;
      next_q_[i] = sum;
      next_e_[i] = e_[i] * ratio;
      pivot = pivot * ratio - tau;
    }
    next_q_[last] = pivots_[last] = pivot;
    return pivot >= 0 || fail(last);
  }
  bool fail(Index i) {
    failed_ = i;
    return false;
  }

  // Below the smallest eigenvalue of what the squares are of, if all goes well.
  R shift(Index first, Index last) const {
    const R least = pivots_.segment(first, last - first + 1).minCoeff();
    if (!(least > 0)) return 0;
    if (pivots_[last] > least) return least / 4;
    // The last element, less what the one above it makes of it.
    const R beside = std::sqrt(q_[last]) * std::sqrt(e_[last - 1]);
    const R above = last - first > 1 ? std::sqrt(q_[last - 1]) * std::sqrt(e_[last - 2]) : R(0);
    const R gap = q_[last - 1] + e_[last - 1] - q_[last] - (beside + above);
    if (gap > beside) return std::max(q_[last] - beside / gap * beside, least / 2);
    // Rayleigh's quotient of the last pivot's vector, less its residual.
    constexpr R kMost = R(0.5);
    R part = 1, square = 0;
    for (Index i = last; i-- > first && square < kMost;) {
      part *= e_[i] / q_[i];
      square += part;
      if (100 * part < square) break;
    }
    if (square >= kMost) return least / 4;
    return least * (1 - std::sqrt(square)) / (1 + square);
  }

  VectorX<R>& values_;
  VectorX<R> q_, e_, next_q_, next_e_;
  VectorX<R> sums_;    // of the shifts so far
  VectorX<R> pivots_;  // of the last step
  Index failed_ = 0;
};

}  // namespace tercel::linalg
