// A LaneJob from memory to memory. fft_baseline.cc and its likes define TERCEL_ISA and
// TERCEL_VECTOR_BYTES, the size of a vector, and include this.
#pragma once
#include "runtime/kernels/fft_passes.h"

namespace tercel::kernels::fft {
namespace {

template <class T>
constexpr bool kIsPacked(const LaneSide<T>& side) {
  return !side.real && !side.neighbours && side.stride == 2;
}

template <class T>
void loadPoint(const LaneSide<T>& side, int64_t k, C<Vector<T>>& to) {
  for (int l = 0; l < kLanes<T>; ++l) {
    const T* at = side.data + side.offset[l] + k * side.stride;
    to.re[l] = at[0];
    to.im[l] = side.real ? T(0) : at[1];
  }
}

// Half a vector's points of each lane at a time.
template <class T>
int64_t loadPacked(const LaneSide<T>& side, C<Vector<T>>* to) {
  constexpr int kBlock = kLanes<T> / 2;
  int64_t k = 0;
  for (; k + kBlock <= side.points; k += kBlock) {
    Vector<T> rows[kLanes<T>];
    for (int l = 0; l < kLanes<T>; ++l) rows[l] = loadVector(side.data + side.offset[l] + 2 * k);
    transposeSquare<T>(rows);
    for (int i = 0; i < kBlock; ++i) to[k + i] = {rows[2 * i], rows[2 * i + 1]};
  }
  return k;
}

template <class T>
int64_t loadNeighbours(const LaneSide<T>& side, C<Vector<T>>* to) {
  for (int64_t k = 0; k < side.points; ++k) {
    const T* at = side.data + side.offset[0] + k * side.stride;
    Vector<T> a = loadVector(at), b = loadVector(at + kLanes<T>);
    to[k] = {everyOther<T>(a, b, 0), everyOther<T>(a, b, 1)};
  }
  return side.points;
}

template <class T>
void load(const LaneSide<T>& side, C<Vector<T>>* to) {
  int64_t k = side.neighbours   ? loadNeighbours(side, to)
              : kIsPacked(side) ? loadPacked(side, to)
                                : 0;
  for (; k < side.points; ++k) loadPoint(side, k, to[k]);
  if (!side.swapped) return;
  for (k = 0; k < side.points; ++k) to[k] = exchanged(to[k]);
}

template <class T>
int64_t storePacked(const LaneSide<T>& side, const C<Vector<T>>* from) {
  constexpr int kBlock = kLanes<T> / 2;
  int64_t k = 0;
  for (; k + kBlock <= side.points; k += kBlock) {
    Vector<T> rows[kLanes<T>];
    for (int i = 0; i < kBlock; ++i) rows[2 * i] = from[k + i].re, rows[2 * i + 1] = from[k + i].im;
    transposeSquare<T>(rows);
    for (int l = 0; l < kLanes<T>; ++l) storeVector(side.data + side.offset[l] + 2 * k, rows[l]);
  }
  return k;
}

template <class T>
int64_t storeNeighbours(const LaneSide<T>& side, const C<Vector<T>>* from) {
  for (int64_t k = 0; k < side.points; ++k) {
    T* at = side.data + side.offset[0] + k * side.stride;
    storeVector(at, interleaved<T>(from[k].re, from[k].im, 0));
    storeVector(at + kLanes<T>, interleaved<T>(from[k].re, from[k].im, kLanes<T> / 2));
  }
  return side.points;
}

template <class T>
void storePoint(const LaneSide<T>& side, int64_t k, const C<Vector<T>>& from) {
  for (int l = 0; l < kLanes<T>; ++l) {
    T* at = side.data + side.offset[l] + k * side.stride;
    at[0] = from.re[l];
    if (!side.real) at[1] = from.im[l];
  }
}

template <class T>
void store(const LaneSide<T>& side, const C<Vector<T>>* from) {
  int64_t k = side.neighbours   ? storeNeighbours(side, from)
              : kIsPacked(side) ? storePacked(side, from)
                                : 0;
  for (; k < side.points; ++k) storePoint(side, k, from[k]);
}

// What is done to each point before it is stored.
template <class T>
void finish(const LaneJob<T>& job, C<Vector<T>>* points) {
  const int64_t count = job.to.points;
  if (job.turns)
    for (int64_t k = 0; k < count; ++k) {
      const T* at = &job.turns[k * job.turn_stride].re;
      Vector<T> a = loadVector(at), b = loadVector(at + kLanes<T>);
      C<Vector<T>> w{everyOther<T>(a, b, 0), everyOther<T>(a, b, 1)}, v = points[k];
      points[k] = {v.re * w.re - v.im * w.im, v.re * w.im + v.im * w.re};
    }
  if (job.scale != T(1))
    for (int64_t k = 0; k < count; ++k) points[k].re *= job.scale, points[k].im *= job.scale;
  if (job.to.swapped)
    for (int64_t k = 0; k < count; ++k) points[k] = exchanged(points[k]);
}

template <class T>
void mirror(C<Vector<T>>* points, int64_t n) {
  points[0] = {Vector<T>{}, points[0].re};
  for (int64_t k = 1; 2 * k < n; ++k) {
    C<Vector<T>> point = exchanged(points[k]);
    points[k] = point;
    points[n - k] = {-point.re, point.im};
  }
}

template <class T>
void runLanes(const LaneJob<T>& job, T* scratch) {
  const LaneTables<T>& tables = *job.tables;
  auto* points = reinterpret_cast<C<Vector<T>>*>(scratch);
  load(job.from, points);
  if (job.fold == Fold::unpack) unpackReal(points, tables.n, job.roots);
  if (job.fold == Fold::mirror) mirror<T>(points, tables.n);
  points = transform(tables, points, points + tables.longest() + 1);
  if (job.fold == Fold::pack) packReal(points, tables.n, job.roots);
  finish(job, points);
  store(job.to, points);
}

template <class T>
constexpr LaneKernels<T> kKernels{kLanes<T>, runLanes<T>, packReal<T, T>, unpackReal<T, T>};

}  // namespace

namespace TERCEL_ISA {
extern const LaneKernels<float> f32 = kKernels<float>;
extern const LaneKernels<double> f64 = kKernels<double>;
}  // namespace TERCEL_ISA

}  // namespace tercel::kernels::fft
