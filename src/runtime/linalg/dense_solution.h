// Triangular systems of few rows: right sides lie in lanes.
#pragma once
#include "runtime/linalg/dense_vectors.h"

namespace tercel::linalg::dense {
namespace {

// Division by a number: Smith's, 1962.
template <class R>
class Quotient {
 public:
  void set(const R* x) { by_ = *x; }
  TERCEL_PART void divide(Vector<R>* x) const { x[0] /= by_; }

 private:
  R by_;
};
template <class R>
class Quotient<std::complex<R>> {
 public:
  void set(const R* x) {
    const R re = x[0], im = x[1];
    is_real_ = __builtin_fabs(re) >= __builtin_fabs(im);
    ratio_ = is_real_ ? im / re : re / im;
    by_ = is_real_ ? re + im * ratio_ : re * ratio_ + im;
  }
  TERCEL_PART void divide(Vector<R>* x) const {
    const Vector<R> re = x[0], im = x[1];
    x[0] = (is_real_ ? re + im * ratio_ : re * ratio_ + im) / by_;
    x[1] = (is_real_ ? im - re * ratio_ : im * ratio_ - re) / by_;
  }

 private:
  bool is_real_;
  R ratio_, by_;
};

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

template <class T>
struct Sides {
  static constexpr int kL = kLanes<Real<T>>;
  Vector<Real<T>> x[kTriangle][kParts<T>];

  // f(a row's parts in lanes, a number's parts, how far numbers are apart)
  template <class F>
  TERCEL_PART static void forEachRow(const Solution<T>& s, int64_t column, F&& f) {
    for (int64_t i = 0; i < s.rows; ++i)
      f(i, partsOf(&s.x(s.upper ? s.rows - 1 - i : i, column)), s.x.column * kParts<T>);
  }
  void take(const Solution<T>& s, int64_t column, int64_t count) {
    forEachRow(s, column, [&](int64_t i, const Real<T>* from, int64_t step) {
      if (kParts<T> == 1 && step == 1 && count == kL) {
        x[i][0] = kernels::loadVector(from);
        return;
      }
      Real<T> numbers[kParts<T>][kL] = {};
      for (int64_t l = 0; l < count; ++l)
        for (int part = 0; part < kParts<T>; ++part) numbers[part][l] = from[l * step + part];
      __builtin_memcpy(x[i], numbers, sizeof(numbers));
    });
  }
  void put(const Solution<T>& s, int64_t column, int64_t count) const {
    forEachRow(s, column, [&](int64_t i, Real<T>* to, int64_t step) {
      if (kParts<T> == 1 && step == 1 && count == kL) return kernels::storeVector(to, x[i][0]);
      Real<T> numbers[kParts<T>][kL];
      __builtin_memcpy(numbers, x[i], sizeof(numbers));
      for (int64_t l = 0; l < count; ++l)
        for (int part = 0; part < kParts<T>; ++part) to[l * step + part] = numbers[part][l];
    });
  }
  void solve(const Triangle<T>& l, int64_t rows, bool is_unit) {
    for (int64_t k = 0; k < rows; ++k) {
      if (!is_unit) l.diagonal[k].divide(x[k]);
      for (int64_t i = k + 1; i < rows; ++i) {
        const Real<T>* by = l.below[k][i];
        x[i][0] -= x[k][0] * by[0];
        if constexpr (kParts<T> == 2) {
          x[i][0] += x[k][1] * by[1];
          x[i][1] -= x[k][0] * by[1];
          x[i][1] -= x[k][1] * by[0];
        }
      }
    }
  }
};

}  // namespace

namespace TERCEL_ISA {

template <class T>
void solveTriangle(const Solution<T>& s) {
  const Triangle<T> triangle(s);
  Sides<T> sides;
  for (int64_t j = 0; j < s.columns; j += Sides<T>::kL) {
    const int64_t count = s.columns - j < Sides<T>::kL ? s.columns - j : Sides<T>::kL;
    sides.take(s, j, count);
    sides.solve(triangle, s.rows, s.unit);
    sides.put(s, j, count);
  }
}

}  // namespace TERCEL_ISA
}  // namespace tercel::linalg::dense
