// c += factor a b by tiles that stay in registers, from panels of a and b that stay in the caches:
// Goto and van de Geijn, 2008.
#pragma once
#include "runtime/linalg/dense_vectors.h"

namespace tercel::linalg::dense {
namespace {

// A tile's size: vectors of rows, and columns.
template <class T>
inline constexpr int kVectors = kParts<T> == 1 ? 2 : 1;
inline constexpr int kColumns = TERCEL_VECTOR_BYTES == 64 ? 8 : 4;
template <class T>
inline constexpr int kRows = kVectors<T>* kLanes<Real<T>>;

// A tile's rows, of which there are `count`, of as many terms as a vector has lanes, where a row's
// elements are beside each other.
template <class T>
void packTurned(Strided<const T> a, int64_t count, T* to) {
  constexpr int kL = kLanes<T>;
  for (int v = 0; v < kVectors<T>; ++v) {
    Vector<T> rows[kL] = {};
    for (int r = 0; r < kL && v * kL + r < count; ++r)
      rows[r] = kernels::loadVector(&a(v * kL + r, 0));
    kernels::transposeSquare<T>(rows);
    TERCEL_UNROLL
    for (int t = 0; t < kL; ++t) kernels::storeVector(to + t * kRows<T> + v * kL, rows[t]);
  }
}

// A panel has, for each term, a tile's rows of a: their real parts, then their imaginary parts.
template <class T>
void packRows(const Product<T>& p, int64_t first, int64_t rows, int64_t term, int64_t terms,
              Real<T>* to) {
  using R = Real<T>;
  const R sign = p.conjugate_a ? R(-1) : R(1);
  for (int64_t i = 0; i < rows; i += kRows<T>) {
    const int64_t here = rows - i < kRows<T> ? rows - i : kRows<T>;
    int64_t t = 0;
    if constexpr (kParts<T> == 1)
      if (p.a.column == 1 && p.a.row != 1)
        for (; t + kLanes<R> <= terms; t += kLanes<R>, to += kRows<T> * kLanes<R>)
          packTurned(p.a.at(first + i, term + t), here, to);
    for (; t < terms; ++t, to += kRows<T> * kParts<T>) {
      const auto* from = partsOf(&p.a(first + i, term + t));
      const int64_t step = p.a.row * kParts<T>;
      int64_t r = 0;
      if (kParts<T> == 1 && step == 1) {
        for (; r + kLanes<R> <= here; r += kLanes<R>)
          kernels::storeVector(to + r, kernels::loadVector(from + r));
        if (r < here) {
          kernels::storeVector(to + r, Few<R>(here - r).load(from + r));
          r += kLanes<R>;
        }
      }
      for (; r < kRows<T>; ++r) {
        to[r] = r < here ? from[r * step] : R(0);
        if constexpr (kParts<T> == 2)
          to[kRows<T> + r] = r < here ? sign * from[r * step + 1] : R(0);
      }
    }
  }
}

// The columns of a tile, of which there are `count`, whose elements are beside each other in a
// column or in a row.
template <class T>
void packTile(Strided<const T> b, int64_t count, int64_t terms, T* to) {
  constexpr int kL = kLanes<T>;
  int64_t t = 0;
  if (b.column == 1 && count >= kColumns) {
    for (; t < terms; ++t, to += kColumns) __builtin_memcpy(to, &b(t, 0), sizeof(T) * kColumns);
    return;
  }
  if (b.column == 1 && b.row != 1) {
    for (; t < terms; ++t, to += kColumns)
      for (int64_t c = 0; c < kColumns; ++c) to[c] = c < count ? b(t, c) : T(0);
    return;
  }
  for (; t + kL <= terms; t += kL, to += kColumns * kL) {
    Vector<T> columns[kColumns];
    TERCEL_UNROLL
    for (int c = 0; c < kColumns; ++c)
      columns[c] = c < count ? kernels::loadVector(&b(t, c)) : Vector<T>{};
    kernels::transposeRows<T, kColumns>(columns);
    TERCEL_UNROLL
    for (int c = 0; c < kColumns; ++c) kernels::storeVector(to + c * kL, columns[c]);
  }
  for (; t < terms; ++t, to += kColumns)
    for (int64_t c = 0; c < kColumns; ++c) to[c] = c < count ? b(t, c) : T(0);
}

// A panel has, for each term, a tile's columns of b.
template <class T>
void packColumns(const Product<T>& p, int64_t first, int64_t columns, int64_t term, int64_t terms,
                 Real<T>* to) {
  using R = Real<T>;
  const R sign = p.conjugate_b ? R(-1) : R(1);
  for (int64_t j = 0; j < columns; j += kColumns) {
    if constexpr (kParts<T> == 1)
      if (p.b.row == 1 || p.b.column == 1) {
        packTile(p.b.at(term, first + j), columns - j, terms, to);
        to += kColumns * terms;
        continue;
      }
    for (int64_t c = 0; c < kColumns; ++c) {
      R* at = to + c * kParts<T>;
      const bool is_there = j + c < columns;
      const auto* from = partsOf(is_there ? &p.b(term, first + j + c) : p.b.data);
      const int64_t step = p.b.row * kParts<T>;
      for (int64_t t = 0; t < terms; ++t, at += kColumns * kParts<T>) {
        at[0] = is_there ? from[t * step] : R(0);
        if constexpr (kParts<T> == 2) at[1] = is_there ? sign * from[t * step + 1] : R(0);
      }
    }
    to += kColumns * kParts<T> * terms;
  }
}

template <class T>
struct Tile {
  Vector<Real<T>> sums[kColumns][kVectors<T> * kParts<T>];
};

template <class T>
TERCEL_PART void sumTile(const Real<T>* a, const Real<T>* b, int64_t terms, Tile<T>& tile) {
  using V = Vector<Real<T>>;
  constexpr int kHeight = kVectors<T> * kParts<T>, kL = kLanes<Real<T>>;
  V sums[kColumns][kHeight] = {};
  for (int64_t t = 0; t < terms; ++t, a += kHeight * kL, b += kColumns * kParts<T>) {
    V rows[kHeight];
    TERCEL_UNROLL
    for (int v = 0; v < kHeight; ++v) rows[v] = kernels::loadVector(a + v * kL);
    TERCEL_UNROLL
    for (int j = 0; j < kColumns; ++j) {
      if constexpr (kParts<T> == 1) {
        TERCEL_UNROLL
        for (int v = 0; v < kHeight; ++v) sums[j][v] += rows[v] * b[j];
      } else {
        sums[j][0] += rows[0] * b[2 * j];
        sums[j][1] += rows[0] * b[2 * j + 1];
        sums[j][0] -= rows[1] * b[2 * j + 1];
        sums[j][1] += rows[1] * b[2 * j];
      }
    }
  }
  TERCEL_UNROLL
  for (int j = 0; j < kColumns; ++j) {
    if constexpr (kParts<T> == 1) {
      TERCEL_UNROLL
      for (int v = 0; v < kHeight; ++v) tile.sums[j][v] = sums[j][v];
    } else {
      tile.sums[j][0] = kernels::interleaved<Real<T>>(sums[j][0], sums[j][1], 0);
      tile.sums[j][1] = kernels::interleaved<Real<T>>(sums[j][0], sums[j][1], kL / 2);
    }
  }
}

template <class T>
void addTile(const Product<T>& p, const Tile<T>& tile, int64_t i, int64_t j) {
  using R = Real<T>;
  constexpr int kHeight = kVectors<T> * kParts<T>, kL = kLanes<R>;
  const int64_t rows = p.m - i, columns = p.n - j;
  const bool whole = rows >= kRows<T> && columns >= kColumns;
  if (whole && !(p.lower && j + kColumns > i + 1)) {
    TERCEL_UNROLL
    for (int c = 0; c < kColumns; ++c) {
      R* to = partsOf(&p.c(i, j + c));
      TERCEL_UNROLL
      for (int v = 0; v < kHeight; ++v)
        kernels::storeVector(to + v * kL,
                             kernels::loadVector(to + v * kL) + tile.sums[c][v] * p.factor);
    }
    return;
  }
  const int64_t end = (rows < kRows<T> ? rows : kRows<T>)*kParts<T>;
  for (int c = 0; c < kColumns && c < columns; ++c) {
    R* to = partsOf(&p.c(i, j + c));
    const int64_t start = p.lower && j + c > i ? (j + c - i) * kParts<T> : 0;
    TERCEL_UNROLL
    for (int v = 0; v < kHeight; ++v) {
      const int64_t first = start - v * kL, last = end - v * kL;
      if (first >= kL || last <= 0 || first >= last) continue;
      const Few<R> lanes(last < kL ? last : kL, first > 0 ? first : 0);
      lanes.store(to + v * kL, lanes.load(to + v * kL) + tile.sums[c][v] * p.factor);
    }
  }
}

template <class T>
void multiplyPanels(const Product<T>& p, int64_t row, int64_t rows, int64_t column, int64_t columns,
                    const Real<T>* a, const Real<T>* b, int64_t terms) {
  for (int64_t j = 0; j < columns; j += kColumns)
    for (int64_t i = 0; i < rows; i += kRows<T>) {
      if (p.lower && row + i + kRows<T> <= column + j) continue;
      Tile<T> tile;
      sumTile<T>(a + i * terms * kParts<T>, b + j * terms * kParts<T>, terms, tile);
      addTile<T>(p, tile, row + i, column + j);
    }
}

inline int64_t least(int64_t x, int64_t y) { return x < y ? x : y; }

}  // namespace

namespace TERCEL_ISA {

template <class T>
void multiply(const Product<T>& p) {
  auto* b = static_cast<Real<T>*>(p.scratch);
  for (int64_t column = 0; column < p.n; column += kProductColumns) {
    const int64_t columns = least(p.n - column, kProductColumns);
    for (int64_t term = 0; term < p.k; term += kTerms) {
      const int64_t terms = least(p.k - term, kTerms);
      packColumns(p, column, columns, term, terms, b);
      Real<T>* a = b + (columns + kLargestTile) / kLargestTile * kLargestTile * terms * kParts<T>;
      for (int64_t row = 0; row < p.m; row += kProductRows) {
        const int64_t rows = least(p.m - row, kProductRows);
        if (p.lower && row + rows <= column) continue;
        packRows(p, row, rows, term, terms, a);
        multiplyPanels(p, row, rows, column, columns, a, b, terms);
      }
    }
  }
}

}  // namespace TERCEL_ISA
}  // namespace tercel::linalg::dense
