// Rotations in lanes, and exchanges, of numbers and of columns.
#pragma once
#include "runtime/linalg/lane_reflectors.h"

namespace tercel::linalg::lanes {
namespace {

// (c, s) with c >= 0 turns (f, g) into (size, 0).
template <class R>
struct Rotation {
  using V = Vector<R>;
  V c, s, size;

  TERCEL_PART Rotation(V f, V g) {
    const V large = larger(absolute(f), absolute(g));
    const Scale<R> scale = scaleOf<R>(large);
    const V x = f * scale.by, y = g * scale.by;
    const V length = squareRoot<R>(x * x + y * y);
    const Mask<R> stays = large < Limits<R>::kTiny / Limits<R>::kEpsilon;
    const V signed_length = f < 0 ? -length : length;
    const V inverse = 1 / (stays ? all(R(1)) : signed_length);
    c = stays ? all(R(1)) : x * inverse;
    s = stays ? V{} : y * inverse;
    size = stays ? V{} : signed_length * scale.back;
  }
};

// Columns `begin` to `end` of v, each pair of which is turned: (x, y) = (c x + s y, c y - s x); so
// many rows of them.
template <int kRows, class N, class V>
TERCEL_PART void turnRows(View<N> v, int64_t begin, int64_t end, const V* c, const V* s) {
  N kept[kRows];
  for (int r = 0; r < kRows; ++r) kept[r] = v(r, begin);
  for (int64_t k = begin; k < end; ++k)
    for (int r = 0; r < kRows; ++r) {
      const N next = v(r, k + 1);
      v(r, k) = kept[r] * c[k] + next * s[k];
      kept[r] = next * c[k] - kept[r] * s[k];
    }
  for (int r = 0; r < kRows; ++r) v(r, end) = kept[r];
}

template <class N, class V>
void turnColumns(View<N> v, int64_t rows, int64_t begin, int64_t end, const V* c, const V* s) {
  int64_t i = 0;
  for (; i + 4 <= rows; i += 4) turnRows<4>(from(v, i, 0), begin, end, c, s);
  for (; i < rows; ++i) turnRows<1>(from(v, i, 0), begin, end, c, s);
}

template <class R, class X>
TERCEL_PART void exchange(Mask<R> lanes, X& x, X& y) {
  const X old = x;
  x = pick(lanes, y, x);
  y = pick(lanes, old, y);
}
template <class R, class N>
void exchangeColumns(Mask<R> lanes, View<N> v, int64_t rows, int64_t i, int64_t j) {
  for (int64_t k = 0; k < rows; ++k) exchange<R>(lanes, v(k, i), v(k, j));
}

}  // namespace
}  // namespace tercel::linalg::lanes
