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
  forEachVector<R>(size, [&](int64_t i, auto lanes) __attribute__((always_inline)) {
    const Vector<R> x = lanes.load(v + i);
    TERCEL_UNROLL
    for (int j = 0; j < kColumns; ++j) sums[j].add(x, lanes.load(partsOf(c[j]) + i));
  });
  Scalar<T> by[kColumns];
  TERCEL_UNROLL
  for (int j = 0; j < kColumns; ++j)
    by[j] = Scalar<T>(Number<T>::load(&job.tau) * sums[j].value() * R(-1));
  forEachVector<R>(size, [&](int64_t i, auto lanes) __attribute__((always_inline)) {
    const Vector<R> x = lanes.load(v + i);
    TERCEL_UNROLL
    for (int j = 0; j < kColumns; ++j)
      lanes.store(partsOf(c[j]) + i, by[j].timesPlus(x, lanes.load(partsOf(c[j]) + i)));
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

}  // namespace TERCEL_ISA
}  // namespace tercel::linalg::dense
