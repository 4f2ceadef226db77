// The loop that the iterations on matrices of two diagonals share.
#pragma once
#include "runtime/linalg/eigen.h"

namespace tercel::linalg {

// Takes the `size` rows of a matrix from the last to the first: `step(first, last)` brings the
// block of rows that no negligible element divides nearer to its values, until `negligible(i)`
// holds for the element of `beside` above the last row, which is `done(last)` then. False where it
// takes more than `most` steps for each row.
template <class R, class Negligible, class Step, class Done>
bool deflate(Index size, VectorX<R>& beside, Index most, Negligible negligible, Step step,
             Done done) {
  Index steps = most * size;
  for (Index last = size - 1; last >= 0;) {
    Index first = last;
    while (first > 0 && !negligible(first - 1)) --first;
    if (first > 0) beside[first - 1] = 0;
    if (first == last) {
      done(last--);
    } else {
      if (steps-- == 0) return false;
      step(first, last);
    }
  }
  return true;
}

// The eigenvalue of the symmetric matrix (a b; b d) that is nearer to d; b is not 0.
template <class R>
R nearerEigenvalue(R a, R b, R d) {
  const R half = (a - d) / 2, size = std::hypot(half, b);
  return d - b / ((half + std::copysign(size, half)) / b);
}

}  // namespace tercel::linalg
