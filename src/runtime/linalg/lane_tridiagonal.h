// Systems of equations with tridiagonal matrices, in lanes.
#pragma once
#include "runtime/linalg/lane_matrices.h"

namespace tercel::linalg::lanes {
namespace {

// Numbers of the diagonal and beside it in each row; `below` of the first row is not read. After
// elimination row i is diagonal[i], above[i] and below[i + 1]: the third is what an exchange brings.
template <class T>
struct Tridiagonal {
  Number<T>*below, *diagonal, *above;
  int64_t n;
};

// Elimination with exchanges of neighbouring rows; the first pivot that is 0, from 1, or 0. Lanes
// stay as they are where a pivot is 0.
template <class T>
Mask<RealOf<T>> eliminate(const Tridiagonal<T>& t, View<Number<T>> x, int64_t columns) {
  using N = Number<T>;
  using R = RealOf<T>;
  Mask<R> failed = {};
  for (int64_t i = 0; i < t.n; ++i) {
    const Vector<R> size = size1(t.diagonal[i]);
    const bool is_last = i + 1 == t.n;
    const Mask<R> stays = is_last ? Mask<R>{} - 1 : size >= size1(t.below[i + 1]);
    const Mask<R> is_zero = stays & (size == 0);
    failed = failed == 0 ? (is_zero & integers<R>(i + 1)) : failed;
    if (is_last) break;
    const N lower = t.below[i + 1], upper = t.above[i], next = t.diagonal[i + 1];
    const N pivot = pick(stays, t.diagonal[i], lower);
    const Divisor<T> by(pick(is_zero, asNumber(N{}, all(R(1))), pivot));
    const N ratio = by.into(pick(is_zero, N{}, pick(stays, lower, t.diagonal[i])));
    t.diagonal[i] = pivot;
    t.above[i] = pick(stays, upper, next);
    t.diagonal[i + 1] = pick(stays, next, upper) - ratio * t.above[i];
    t.below[i + 1] = N{};
    if (i + 2 < t.n) {
      const N after = t.above[i + 1];
      t.below[i + 1] = pick(stays, N{}, after);
      t.above[i + 1] = pick(stays, after, N{} - ratio * after);
    }
    for (int64_t c = 0; c < columns; ++c) {
      const N first = x(i, c), second = x(i + 1, c);
      x(i, c) = pick(stays, first, second);
      x(i + 1, c) = pick(stays, second, first) - ratio * x(i, c);
    }
  }
  return failed;
}

// Where a pivot is no more than rounding errors, it becomes as large as they are.
template <class T>
void perturb(const Tridiagonal<T>& t) {
  using N = Number<T>;
  using R = RealOf<T>;
  Vector<R> largest = {};
  for (int64_t i = 0; i < t.n; ++i) {
    largest = larger(size1(t.diagonal[i]), largest);
    if (i + 1 < t.n) largest = larger(size1(t.above[i]), largest);
    if (i + 2 < t.n) largest = larger(size1(t.below[i + 1]), largest);
  }
  const Vector<R> least = Limits<R>::kEpsilon * (largest > 0 ? largest : all(R(1)));
  for (int64_t i = 0; i < t.n; ++i) {
    const Vector<R> real = realOf(t.diagonal[i]);
    Mask<R> bits;
    __builtin_memcpy(&bits, &real, sizeof(real));
    const N near = asNumber(N{}, bits < 0 ? -least : least);
    t.diagonal[i] = pick(size1(t.diagonal[i]) < least, near, t.diagonal[i]);
  }
}

// What is left of the sides becomes the solutions in the lanes of `chosen`.
template <class T>
void substitute(const Tridiagonal<T>& t, View<Number<T>> x, int64_t columns,
                Mask<RealOf<T>> chosen) {
  for (int64_t i = t.n - 1; i >= 0; --i) {
    const Divisor<T> by(t.diagonal[i]);
    for (int64_t c = 0; c < columns; ++c) {
      Number<T> y = x(i, c);
      if (i + 1 < t.n) y = y - t.above[i] * x(i + 1, c);
      if (i + 2 < t.n) y = y - t.below[i + 1] * x(i + 2, c);
      x(i, c) = pick(chosen, by.into(y), x(i, c));
    }
  }
}

}  // namespace
}  // namespace tercel::linalg::lanes
