// Rotations of neighbouring columns, by strips of rows that lie together meanwhile. A column stays
// in registers between the rotation that it ends and the one that it begins, and two sweeps go
// through a strip together, the second a column behind the first: Van Zee, van de Geijn and
// Quintana-Orti, 2014.
#pragma once
#include "runtime/linalg/dense_vectors.h"

namespace tercel::linalg::dense {
namespace {

// Vectors of a strip's column.
inline constexpr int kStrip = TERCEL_VECTOR_BYTES == 64 ? 4 : 2;
static_assert(kStrip * TERCEL_VECTOR_BYTES <= kStripBytes);
template <class R>
inline constexpr int64_t kStripRows = kStrip* kLanes<R>;

template <class R>
struct StripColumn {
  Vector<R> v[kStrip];

  TERCEL_PART static StripColumn load(const R* from) {
    StripColumn column;
    TERCEL_UNROLL
    for (int i = 0; i < kStrip; ++i) column.v[i] = kernels::loadVector(from + i * kLanes<R>);
    return column;
  }
  TERCEL_PART void store(R* to) const {
    TERCEL_UNROLL
    for (int i = 0; i < kStrip; ++i) kernels::storeVector(to + i * kLanes<R>, v[i]);
  }
  // (this, other) = (what is done, what the next rotation turns)
  TERCEL_PART void turn(const R* by, StripColumn& other) {
    const Vector<R> c = by[0] - Vector<R>{}, s = by[1] - Vector<R>{};
    TERCEL_UNROLL
    for (int i = 0; i < kStrip; ++i) {
      const Vector<R> x = v[i], y = other.v[i];
      v[i] = x * c + y * s;
      other.v[i] = y * c - x * s;
    }
  }
};

template <class R>
void rotateStrip(R* at, const R* turns, int64_t count) {
  StripColumn<R> kept = StripColumn<R>::load(at);
  for (int64_t k = 0; k < count; ++k, at += kStripRows<R>) {
    StripColumn<R> next = StripColumn<R>::load(at + kStripRows<R>);
    kept.turn(turns + 2 * k, next);
    kept.store(at);
    kept = next;
  }
  kept.store(at);
}

// Two sweeps from the same column on, the second of no more rotations.
template <class R>
void rotateStripTwice(R* at, const R* turns, int64_t count, const R* later, int64_t later_count) {
  StripColumn<R> behind = StripColumn<R>::load(at);
  StripColumn<R> kept = StripColumn<R>::load(at + kStripRows<R>);
  behind.turn(turns, kept);
  for (int64_t k = 0; k < later_count; ++k, at += kStripRows<R>) {
    StripColumn<R> next = kept;
    if (k + 1 < count) {
      next = StripColumn<R>::load(at + 2 * kStripRows<R>);
      kept.turn(turns + 2 * (k + 1), next);
    }
    behind.turn(later + 2 * k, kept);
    behind.store(at);
    behind = kept;
    kept = next;
  }
  behind.store(at);
  if (later_count == count) return;
  kept.store(at + kStripRows<R>);
  rotateStrip(at + kStripRows<R>, turns + 2 * (later_count + 1), count - later_count - 1);
}

template <class R>
void takeStrip(const R* from, int64_t rows, int64_t column, int64_t columns, R* strip) {
  for (int64_t j = 0; j < columns; ++j, from += column, strip += kStripRows<R>)
    forEachVector<R>(
        rows, [&](int64_t i, auto lanes)
                  __attribute__((always_inline)) { lanes.store(strip + i, lanes.load(from + i)); });
}

}  // namespace

namespace TERCEL_ISA {

template <class R>
void rotate(const Rotations<R>& job) {
  R* strip = static_cast<R*>(job.scratch);
  for (int64_t i = 0; i < job.rows; i += kStripRows<R>) {
    const int64_t rows = job.rows - i < kStripRows<R> ? job.rows - i : kStripRows<R>;
    if (rows < kStripRows<R>)
      for (int64_t k = 0; k < job.columns * kStripRows<R>; ++k) strip[k] = 0;
    takeStrip(job.matrix + i, rows, job.column, job.columns, strip);
    const R* turns = job.turns;
    for (int64_t sweep = 0; sweep < job.sweeps; ++sweep) {
      R* at = strip + job.first[sweep] * kStripRows<R>;
      const int64_t count = job.count[sweep];
      const int64_t later = sweep + 1 < job.sweeps && job.first[sweep + 1] == job.first[sweep]
                                ? job.count[sweep + 1]
                                : 0;
      if (later > 0 && later <= count) {
        rotateStripTwice(at, turns, count, turns + 2 * count, later);
        turns += 2 * (count + later);
        ++sweep;
      } else {
        rotateStrip(at, turns, count);
        turns += 2 * count;
      }
    }
    R* to = job.matrix + i;
    for (int64_t j = 0; j < job.columns; ++j, to += job.column)
      takeStrip(strip + j * kStripRows<R>, rows, 0, 1, to);
  }
}

}  // namespace TERCEL_ISA
}  // namespace tercel::linalg::dense
