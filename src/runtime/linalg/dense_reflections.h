// Householder's reflectors applied to columns, some at a time, while those are in registers or in
// the nearest cache.
#pragma once
#include "runtime/linalg/dense_vectors.h"

namespace tercel::linalg::dense {
namespace {

template <int kColumns, class T>
TERCEL_PART void reflectColumns(const Reflection<T>& job, int64_t first) {
  using R = Real<T>;
  T* c[kColumns];
  TERCEL_UNROLL
  for (int j = 0; j < kColumns; ++j) c[j] = job.c + (first + j) * job.column;
  const R* v = partsOf(job.v);
  const int64_t size = job.rows * kParts<T>;
  Dot<T> sums[kColumns];
  forEachVector<R>(
      size, [&](int64_t i, auto lanes) __attribute__((always_inline)) {
        const Vector<R> x = lanes.load(v + i);
        TERCEL_UNROLL
        for (int j = 0; j < kColumns; ++j) sums[j].add(x, lanes.load(partsOf(c[j]) + i));
      });
  Scalar<T> by[kColumns];
  TERCEL_UNROLL
  for (int j = 0; j < kColumns; ++j)
    by[j] = Scalar<T>(Number<T>::load(&job.tau) * sums[j].value() * R(-1));
  forEachVector<R>(
      size, [&](int64_t i, auto lanes) __attribute__((always_inline)) {
        const Vector<R> x = lanes.load(v + i);
        TERCEL_UNROLL
        for (int j = 0; j < kColumns; ++j)
          lanes.store(partsOf(c[j]) + i, by[j].timesPlus(x, lanes.load(partsOf(c[j]) + i)));
      });
}

// Rows that a vector or two hold: all that they are multiplied by stays in the nearest cache.
template <int kVectors, class T, class Lanes>
TERCEL_PART void reflectRowsAt(const Reflection<T>& job, Real<T>* rows, const Lanes& lanes) {
  using R = Real<T>;
  constexpr int kSums = 4 / kVectors, kL = kLanes<R>;
  Vector<R> sums[kSums][kVectors] = {};
  const int64_t step = job.column * kParts<T>;
  auto add = [&](int64_t j, int sum) __attribute__((always_inline)) {
    const Scalar<T> by(Number<T>::load(job.v + j));
    TERCEL_UNROLL
    for (int i = 0; i < kVectors; ++i)
      sums[sum][i] = by.timesPlus(lanes.load(rows + j * step + i * kL), sums[sum][i]);
  };
  int64_t j = 0;
  for (; j + kSums <= job.columns; j += kSums) {
    TERCEL_UNROLL
    for (int s = 0; s < kSums; ++s) add(j + s, s);
  }
  for (; j < job.columns; ++j) add(j, 0);
  const Scalar<T> factor(Number<T>::load(&job.tau) * R(-1));
  TERCEL_UNROLL
  for (int i = 0; i < kVectors; ++i) {
    TERCEL_UNROLL
    for (int s = 1; s < kSums; ++s) sums[0][i] += sums[s][i];
    sums[0][i] = factor.times(sums[0][i]);
  }
  for (j = 0; j < job.columns; ++j) {
    const Scalar<T> by(Number<T>::load(job.v + j).conjugate());
    TERCEL_UNROLL
    for (int i = 0; i < kVectors; ++i) {
      R* at = rows + j * step + i * kL;
      lanes.store(at, by.timesPlus(sums[0][i], lanes.load(at)));
    }
  }
}

template <class T>
TERCEL_PART void addRankTwoAt(const RankTwo<T>& job, int64_t j) {
  using R = Real<T>;
  const Scalar<T> by_v(Number<T>::load(job.v + j).conjugate() * R(-1));
  const Scalar<T> by_w(Number<T>::load(job.w + j).conjugate() * R(-1));
  R* to = partsOf(job.a + j * job.column + j);
  const R *v = partsOf(job.v + j), *w = partsOf(job.w + j);
  forEachVector<R>(
      (job.size - j) * kParts<T>, [&](int64_t i, auto lanes) __attribute__((always_inline)) {
        const Vector<R> sum = by_w.timesPlus(lanes.load(v + i), lanes.load(to + i));
        lanes.store(to + i, by_v.timesPlus(lanes.load(w + i), sum));
      });
}

}  // namespace

namespace TERCEL_ISA {

template <class T>
void reflect(const Reflection<T>& job) {
  int64_t j = 0;
  for (; j + 4 <= job.columns; j += 4) reflectColumns<4>(job, j);
  for (; j < job.columns; ++j) reflectColumns<1>(job, j);
}

template <class T>
void reflectRows(const Reflection<T>& job) {
  using R = Real<T>;
  constexpr int kL = kLanes<R>;
  const int64_t size = job.rows * kParts<T>;
  R* rows = partsOf(job.c);
  int64_t i = 0;
  for (; i + 2 * kL <= size; i += 2 * kL) reflectRowsAt<2>(job, rows + i, Whole<R>());
  rows += i;
  forEachVector<R>(
      size - i, [&](int64_t at, auto lanes)
                    __attribute__((always_inline)) { reflectRowsAt<1>(job, rows + at, lanes); });
}

template <class T>
void addRankTwo(const RankTwo<T>& job) {
  for (int64_t j = 0; j < job.size; ++j) addRankTwoAt(job, j);
}

}  // namespace TERCEL_ISA
}  // namespace tercel::linalg::dense
