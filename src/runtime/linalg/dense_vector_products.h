// Products of a matrix and a vector: a few columns at a time, so that each element is loaded once.
#pragma once
#include "runtime/linalg/dense_vectors.h"

namespace tercel::linalg::dense {
namespace {

inline constexpr int kMostColumns = TERCEL_VECTOR_BYTES == 64 ? 8 : 4;

template <int kColumns, class T>
TERCEL_PART void addColumns(const VectorProduct<T>& p, int64_t first) {
  using R = Real<T>;
  const R* a[kColumns];
  TERCEL_UNROLL
  for (int j = 0; j < kColumns; ++j) a[j] = partsOf(p.a + (first + j) * p.column);
  Scalar<T> by[kColumns];
  TERCEL_UNROLL
  for (int j = 0; j < kColumns; ++j)
    by[j] = Scalar<T>(Number<T>::load(p.x + first + j) * p.factor);
  forEachVector<R>(
      p.m * kParts<T>, [&](int64_t i, auto lanes) __attribute__((always_inline)) {
        Vector<R> y = lanes.load(partsOf(p.y) + i);
        TERCEL_UNROLL
        for (int j = 0; j < kColumns; ++j) y = by[j].timesPlus(lanes.load(a[j] + i), y);
        lanes.store(partsOf(p.y) + i, y);
      });
}

template <int kColumns, class T>
TERCEL_PART void addDots(const VectorProduct<T>& p, int64_t first) {
  using R = Real<T>;
  const R* a[kColumns];
  TERCEL_UNROLL
  for (int j = 0; j < kColumns; ++j) a[j] = partsOf(p.a + (first + j) * p.column);
  Dot<T> sums[kColumns];
  forEachVector<R>(
      p.m * kParts<T>, [&](int64_t i, auto lanes) __attribute__((always_inline)) {
        const Vector<R> x = lanes.load(partsOf(p.x) + i);
        TERCEL_UNROLL
        for (int j = 0; j < kColumns; ++j) sums[j].add(lanes.load(a[j] + i), x);
      });
  TERCEL_UNROLL
  for (int j = 0; j < kColumns; ++j) sums[j].addTo(p.y + first + j, p.factor);
}

// Columns of a Hermitian matrix from the diagonal on, which are rows, too.
template <int kColumns, class T>
TERCEL_PART void addHermitian(const VectorProduct<T>& p, int64_t first) {
  using R = Real<T>;
  const T* a[kColumns];
  TERCEL_UNROLL
  for (int j = 0; j < kColumns; ++j) a[j] = p.a + (first + j) * p.column;
  TERCEL_UNROLL
  for (int j = 0; j < kColumns; ++j) {
    R* y = partsOf(p.y + first + j);
    TERCEL_UNROLL
    for (int i = 0; i < kColumns; ++i) {
      const R* x = partsOf(p.x + first + i);
      const R* number = partsOf(i < j ? a[i] + first + j : a[j] + first + i);
      y[0] += number[0] * x[0] * p.factor;
      if constexpr (kParts<T> == 2) {
        y[1] += number[0] * x[1] * p.factor;
        if (i == j) continue;
        const R imag = (i < j ? number[1] : -number[1]) * p.factor;
        y[0] -= imag * x[1];
        y[1] += imag * x[0];
      }
    }
  }
  const int64_t below = first + kColumns;
  if (below >= p.m) return;
  Scalar<T> by[kColumns];
  TERCEL_UNROLL
  for (int j = 0; j < kColumns; ++j)
    by[j] = Scalar<T>(Number<T>::load(p.x + first + j) * p.factor);
  Dot<T> sums[kColumns];
  forEachVector<R>(
      (p.m - below) * kParts<T>, [&](int64_t i, auto lanes) __attribute__((always_inline)) {
        const Vector<R> x = lanes.load(partsOf(p.x + below) + i);
        Vector<R> y = lanes.load(partsOf(p.y + below) + i);
        TERCEL_UNROLL
        for (int j = 0; j < kColumns; ++j) {
          const Vector<R> v = lanes.load(partsOf(a[j] + below) + i);
          sums[j].add(v, x);
          y = by[j].timesPlus(v, y);
        }
        lanes.store(partsOf(p.y + below) + i, y);
      });
  TERCEL_UNROLL
  for (int j = 0; j < kColumns; ++j) sums[j].addTo(p.y + first + j, p.factor);
}

}  // namespace

namespace TERCEL_ISA {

template <class T>
void multiplyVector(const VectorProduct<T>& p) {
  int64_t j = 0;
  for (; j + kMostColumns <= p.n; j += kMostColumns) addColumns<kMostColumns>(p, j);
  for (; j + 2 <= p.n; j += 2) addColumns<2>(p, j);
  for (; j < p.n; ++j) addColumns<1>(p, j);
}

template <class T>
void multiplyAdjoint(const VectorProduct<T>& p) {
  int64_t j = 0;
  for (; j + kMostColumns <= p.n; j += kMostColumns) addDots<kMostColumns>(p, j);
  for (; j + 2 <= p.n; j += 2) addDots<2>(p, j);
  for (; j < p.n; ++j) addDots<1>(p, j);
}

template <class T>
void multiplyHermitian(const VectorProduct<T>& p) {
  int64_t j = 0;
  for (; j + 4 <= p.n; j += 4) addHermitian<4>(p, j);
  for (; j < p.n; ++j) addHermitian<1>(p, j);
}

}  // namespace TERCEL_ISA
}  // namespace tercel::linalg::dense
