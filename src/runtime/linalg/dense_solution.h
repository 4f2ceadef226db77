// Triangular systems of few rows: right sides lie in lanes.
#pragma once
#include "runtime/linalg/dense_vectors.h"

namespace tercel::linalg::dense {
namespace {

// The triangle, its rows in the order in which they are solved.
template <class T>
struct Triangle {
  Real<T> below[kTriangle][kTriangle][kParts<T>];  // by columns
  Quotient<T> diagonal[kTriangle];

  explicit Triangle(const Solution<T>& s) {
    const Real<T> sign = s.conjugate ? Real<T>(-1) : Real<T>(1);
    for (int64_t j = 0; j < s.rows; ++j)
      for (int64_t i = s.unit ? j + 1 : j; i < s.rows; ++i) {
        const int64_t row = s.upper ? s.rows - 1 - i : i, column = s.upper ? s.rows - 1 - j : j;
        const Real<T>* from = partsOf(&s.l(row, column));
        Real<T>* to = below[j][i];
        to[0] = from[0];
        if constexpr (kParts<T> == 2) to[1] = sign * from[1];
        if (i == j) diagonal[j].set(to);
      }
  }
};

// Right sides in the lanes of kWidth vectors.
template <class T, int kWidth>
struct Sides {
  using R = Real<T>;
  static constexpr int kL = kLanes<R>, kAll = kWidth * kL;
  // Rows that are solved in registers.
  static constexpr int kPanel = kParts<T> == 1 && TERCEL_VECTOR_BYTES == 64 ? 8 : 4;
  // Whether columns beside each other in memory are turned into lanes as whole squares.
  static constexpr bool kTurns = kParts<T> == 1 && TERCEL_VECTOR_BYTES > 16;
  struct Row {
    Vector<R> parts[kWidth][kParts<T>];
  };
  Row x[kTriangle];

  void take(const Solution<T>& s, int64_t column, int64_t count) {
    for (int w = 0; w < kWidth; ++w, column += kL, count -= kL) take(s, column, count, w);
  }
  void put(const Solution<T>& s, int64_t column, int64_t count) const {
    for (int w = 0; w < kWidth; ++w, column += kL, count -= kL) put(s, column, count, w);
  }
  void solve(const Triangle<T>& l, int64_t rows, bool is_unit) {
    int64_t k = 0;
    for (; k + kPanel <= rows; k += kPanel) solvePanel<kPanel>(l, k, is_unit);
    for (; k < rows; ++k) solvePanel<1>(l, k, is_unit);
  }

 private:
  // Of column `column` on those of vector w, of which there are `count`.
  void take(const Solution<T>& s, int64_t column, int64_t count, int w) {
    int64_t i = 0;
    if constexpr (kTurns)
      if (s.x.row == 1 && s.x.column != 1)
        for (; i + kL <= s.rows; i += kL) {
          Vector<R> square[kL] = {};
          for (int64_t l = 0; l < kL && l < count; ++l)
            square[l] = kernels::loadVector(&s.x(firstOf(s, i), column + l));
          kernels::transposeSquare<R>(square);
          for (int64_t q = 0; q < kL; ++q) x[i + inSquare(s, q)].parts[w][0] = square[q];
        }
    for (; i < s.rows; ++i) {
      const R* from = partsOf(&s.x(s.upper ? s.rows - 1 - i : i, column));
      const int64_t step = s.x.column * kParts<T>;
      if (kParts<T> == 1 && step == 1 && count >= kL) {
        x[i].parts[w][0] = kernels::loadVector(from);
        continue;
      }
      R numbers[kParts<T>][kL] = {};
      for (int64_t l = 0; l < kL && l < count; ++l)
        for (int part = 0; part < kParts<T>; ++part) numbers[part][l] = from[l * step + part];
      __builtin_memcpy(x[i].parts[w], numbers, sizeof(numbers));
    }
  }
  void put(const Solution<T>& s, int64_t column, int64_t count, int w) const {
    int64_t i = 0;
    if constexpr (kTurns)
      if (s.x.row == 1 && s.x.column != 1)
        for (; i + kL <= s.rows; i += kL) {
          Vector<R> square[kL];
          for (int64_t q = 0; q < kL; ++q) square[q] = x[i + inSquare(s, q)].parts[w][0];
          kernels::transposeSquare<R>(square);
          for (int64_t l = 0; l < kL && l < count; ++l)
            kernels::storeVector(&s.x(firstOf(s, i), column + l), square[l]);
        }
    for (; i < s.rows; ++i) {
      R* to = partsOf(&s.x(s.upper ? s.rows - 1 - i : i, column));
      const int64_t step = s.x.column * kParts<T>;
      if (kParts<T> == 1 && step == 1 && count >= kL) {
        kernels::storeVector(to, x[i].parts[w][0]);
        continue;
      }
      R numbers[kParts<T>][kL];
      __builtin_memcpy(numbers, x[i].parts[w], sizeof(numbers));
      for (int64_t l = 0; l < kL && l < count; ++l)
        for (int part = 0; part < kParts<T>; ++part) to[l * step + part] = numbers[part][l];
    }
  }
  // In memory, of the kL rows from the i-th on that are solved; and which of them a row there is.
  static int64_t firstOf(const Solution<T>& s, int64_t i) { return s.upper ? s.rows - i - kL : i; }
  static int64_t inSquare(const Solution<T>& s, int64_t q) { return s.upper ? kL - 1 - q : q; }

  // row -= from * by
  TERCEL_PART static void subtract(Row& row, const Row& from, const R* by) {
    TERCEL_UNROLL
    for (int w = 0; w < kWidth; ++w) {
      auto& to = row.parts[w];
      const auto& x = from.parts[w];
      to[0] -= x[0] * by[0];
      if constexpr (kParts<T> == 2) {
        to[0] += x[1] * by[1];
        to[1] -= x[0] * by[1];
        to[1] -= x[1] * by[0];
      }
    }
  }
  template <int kRows>
  TERCEL_PART void solvePanel(const Triangle<T>& l, int64_t first, bool is_unit) {
    Row rows[kRows];
    TERCEL_UNROLL
    for (int r = 0; r < kRows; ++r) rows[r] = x[first + r];
    for (int64_t k = 0; k < first; ++k) {
      const Row known = x[k];
      TERCEL_UNROLL
      for (int r = 0; r < kRows; ++r) subtract(rows[r], known, l.below[k][first + r]);
    }
    TERCEL_UNROLL
    for (int k = 0; k < kRows; ++k) {
      if (!is_unit)
        for (int w = 0; w < kWidth; ++w) l.diagonal[first + k].divide(rows[k].parts[w]);
      TERCEL_UNROLL
      for (int r = k + 1; r < kRows; ++r) subtract(rows[r], rows[k], l.below[first + k][first + r]);
      x[first + k] = rows[k];
    }
  }
};

template <int kWidth, class T>
int64_t solveSides(const Solution<T>& s, const Triangle<T>& triangle, int64_t column) {
  using Part = Sides<T, kWidth>;
  Part sides;
  for (; s.columns - column > (kWidth - 1) * Part::kL; column += Part::kAll) {
    sides.take(s, column, s.columns - column);
    sides.solve(triangle, s.rows, s.unit);
    sides.put(s, column, s.columns - column);
  }
  return column;
}

}  // namespace

namespace TERCEL_ISA {

template <class T>
void solveTriangle(const Solution<T>& s) {
  constexpr int kWidth = kParts<T> == 1 && TERCEL_VECTOR_BYTES == 64 ? 2 : 1;
  const Triangle<T> triangle(s);
  const int64_t column = solveSides<kWidth>(s, triangle, 0);
  if constexpr (kWidth > 1) solveSides<1>(s, triangle, column);
}

}  // namespace TERCEL_ISA
}  // namespace tercel::linalg::dense
