// Singular values of bidiagonal matrices, by the QR iteration with implicit shifts of Golub and
// Kahan, 1965, and Golub and Reinsch, 1970.
#pragma once
#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <utility>

#include "runtime/linalg/bidiagonal_values.h"
#include "runtime/linalg/rotations.h"

namespace tercel::linalg {

// Column `last`, which has a number above its diagonal only, is turned into those before it down to
// `first`; turn(x, y, c, s) does the same to columns x and y of what is multiplied by.
template <class R, class Turn>
void clearLastColumn(VectorX<R>& d, VectorX<R>& e, Index first, Index last, Turn turn) {
  R f = std::exchange(e[last - 1], R(0));
  for (Index j = last; j-- > first && f != 0;) {
    const Rotation<R> rotation(d[j], f);
    d[j] = rotation.size;
    turn(j, last, rotation.c, rotation.s);
    if (j == first) break;
    f = -rotation.s * e[j - 1];
    e[j - 1] *= rotation.c;
  }
}

// The matrix has the diagonal d and e above it, of the order of 1.
template <class T>
class Bidiagonal {
 public:
  using R = Real<T>;
  Bidiagonal(VectorX<R>& d, VectorX<R>& e, ColumnRotations<T>& u, ColumnRotations<T>& v)
      : d_(d), e_(e), u_(u), v_(v) {}

  // False where it does not converge.
  bool run() {
    constexpr Index kMost = 60;  // steps for each singular value; two or three are usual
    return deflate(
        d_.size(), e_, kMost, [this](Index i) { return isNegligible(i); },
        [this](Index first, Index last) { step(first, last); }, [](Index) {});
  }

 private:
  // Of the element between rows i and i + 1; NaN is, so that every run ends.
  bool isNegligible(Index i) const {
    constexpr R epsilon = std::numeric_limits<R>::epsilon();
    const R size = std::abs(e_[i]), beside = std::abs(d_[i]) + std::abs(d_[i + 1]);
    return !(size >= kExact<R> && size > epsilon * beside);
  }

  // A zero on the diagonal takes what is right of it, or above the last, with it.
  bool removeZero(Index first, Index last) {
    R largest = 0;
    for (Index i = first; i <= last; ++i) largest = std::max(largest, std::abs(d_[i]));
    for (Index i = first; i < last; ++i) largest = std::max(largest, std::abs(e_[i]));
    const R negligible = std::numeric_limits<R>::epsilon() * largest / 16;
    for (Index i = first; i < last; ++i) {
      if (std::abs(d_[i]) > negligible) continue;
      d_[i] = 0;
      clearRow(i, last);
      return true;
    }
    if (std::abs(d_[last]) > negligible) return false;
    d_[last] = 0;
    clearColumn(first, last);
    return true;
  }
  void clearRow(Index i, Index last) {
    R f = std::exchange(e_[i], R(0));
    for (Index j = i + 1; j <= last && f != 0; ++j) {
      const Rotation<R> turn(d_[j], f);
      d_[j] = turn.size;
      u_.turn(j, i, turn.c, turn.s);
      if (j == last) break;
      f = -turn.s * e_[j];
      e_[j] *= turn.c;
    }
  }
  void clearColumn(Index first, Index last) {
    clearLastColumn(d_, e_, first, last,
                    [this](Index x, Index y, R c, R s) { v_.turn(x, y, c, s); });
  }

  // The eigenvalue near the last of the last two rows of the square, less the square of the last.
  R shift(Index last, R scale) const {
    const R end = d_[last] / scale, before = d_[last - 1] / scale, beside = e_[last - 1] / scale;
    const R b = ((before + end) * (before - end) + beside * beside) / 2;
    const R c = (end * beside) * (end * beside);
    if (b == 0 && c == 0) return 0;
    return c / (b + std::copysign(std::sqrt(b * b + c), b));
  }

  void step(Index first, Index last) {
    if (removeZero(first, last)) return;
    const R scale = std::max({std::abs(d_[last]), std::abs(d_[last - 1]), std::abs(e_[last - 1]),
                              std::abs(d_[first]), std::abs(e_[first])});
    const R start = d_[first] / scale, end = d_[last] / scale;
    R f = (start + end) * (start - end) + shift(last, scale);
    R g = start * (e_[first] / scale);
    u_.begin(first);
    v_.begin(first);
    for (Index j = first; j < last; ++j) {
      const Rotation<R> right(f, g);
      if (j > first) e_[j - 1] = right.size;
      f = right.c * d_[j] + right.s * e_[j];
      e_[j] = right.c * e_[j] - right.s * d_[j];
      g = right.s * d_[j + 1];
      d_[j + 1] *= right.c;
      v_.add(right.c, right.s);
      const Rotation<R> left(f, g);
      d_[j] = left.size;
      f = left.c * e_[j] + left.s * d_[j + 1];
      d_[j + 1] = left.c * d_[j + 1] - left.s * e_[j];
      if (j + 1 < last) {
        g = left.s * e_[j + 1];
        e_[j + 1] *= left.c;
      }
      u_.add(left.c, left.s);
    }
    e_[last - 1] = f;
  }

  VectorX<R>& d_;
  VectorX<R>& e_;
  ColumnRotations<T>& u_;
  ColumnRotations<T>& v_;
};

// d becomes the singular values, falling. False where it does not converge.
template <class R>
bool findSingularValues(VectorX<R>& d, VectorX<R>& e) {
  if (!BidiagonalValues<R>(d, e).run()) return false;
  std::sort(d.data(), d.data() + d.size(), std::greater<R>());
  return true;
}
// The same, and u and v become u u' and v v' for the matrix u' diag(d) v'^H.
template <class T>
bool diagonalize(VectorX<Real<T>>& d, VectorX<Real<T>>& e, MatrixX<T>& u, MatrixX<T>& v) {
  ColumnRotations<T> of_u(u), of_v(v);
  if (!Bidiagonal<T>(d, e, of_u, of_v).run()) return false;
  of_u.flush();
  of_v.flush();
  for (Index i = 0; i < d.size(); ++i) {
    if (!std::signbit(d[i])) continue;
    d[i] = -d[i];
    v.col(i) = -v.col(i);
  }
  for (Index i = 0; i < d.size(); ++i) {
    Index at;
    d.tail(d.size() - i).maxCoeff(&at);
    if (at == 0) continue;
    std::swap(d[i], d[i + at]);
    u.col(i).swap(u.col(i + at));
    v.col(i).swap(v.col(i + at));
  }
  return true;
}

}  // namespace tercel::linalg
