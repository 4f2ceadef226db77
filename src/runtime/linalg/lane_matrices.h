// Matrices in lanes: taken from memory and put back, and products of parts of them.
#pragma once
#include "runtime/linalg/lane_numbers.h"

namespace tercel::linalg::lanes {
namespace {

// Of a matrix, of its transpose, or of either with rows and columns in reverse.
template <class N>
struct View {
  N* data;
  int64_t row, column;

  N& operator()(int64_t i, int64_t j) const { return data[i * row + j * column]; }
  View transposed() const { return {data, column, row}; }
  View reversed(int64_t rows, int64_t columns) const {
    return {data + (rows - 1) * row + (columns - 1) * column, -row, -column};
  }
};

// Lane l's numbers lie at memory + l * stride; lanes from `count` on have the last one's.
template <class R>
void takeReals(const R* memory, int64_t stride, int64_t size, int64_t count, Vector<R>* to) {
  constexpr int kSide = kLanes<R>;
  const R* lane[kSide];
  for (int l = 0; l < kSide; ++l) lane[l] = memory + (l < count ? l : count - 1) * stride;
  int64_t i = 0;
  for (; i + kSide <= size; i += kSide) {
    Vector<R> rows[kSide];
    for (int l = 0; l < kSide; ++l) rows[l] = kernels::loadVector(lane[l] + i);
    kernels::transposeSquare<R>(rows);
    for (int l = 0; l < kSide; ++l) to[i + l] = rows[l];
  }
  for (; i < size; ++i) {
    R numbers[kSide];
    for (int l = 0; l < kSide; ++l) numbers[l] = lane[l][i];
    to[i] = kernels::loadVector(numbers);
  }
}

template <class R>
void putReals(const Vector<R>* from, int64_t stride, int64_t size, int64_t count, R* memory) {
  constexpr int kSide = kLanes<R>;
  int64_t i = 0;
  for (; i + kSide <= size; i += kSide) {
    Vector<R> rows[kSide];
    for (int l = 0; l < kSide; ++l) rows[l] = from[i + l];
    kernels::transposeSquare<R>(rows);
    for (int l = 0; l < count; ++l) kernels::storeVector(memory + l * stride + i, rows[l]);
  }
  for (; i < size; ++i)
    for (int l = 0; l < count; ++l) memory[l * stride + i] = from[i][l];
}

// `size` numbers from number `at` on of each matrix of `stride` numbers.
template <class T>
void takeRun(const Job<T>& job, const T* array, int64_t stride, int64_t at, int64_t size,
             Number<T>* to) {
  using R = RealOf<T>;
  takeReals<R>(reinterpret_cast<const R*>(array + job.first * stride + at), stride * kParts<T>,
               size * kParts<T>, job.count, reinterpret_cast<Vector<R>*>(to));
}
template <class T>
void putRun(const Job<T>& job, const Number<T>* from, int64_t stride, int64_t at, int64_t size,
            T* array) {
  using R = RealOf<T>;
  putReals<R>(reinterpret_cast<const Vector<R>*>(from), stride * kParts<T>, size * kParts<T>,
              job.count, reinterpret_cast<R*>(array + job.first * stride + at));
}
// A job's array of `size` numbers a matrix.
template <class T>
Number<T>* take(const Job<T>& job, const T* array, int64_t size, Number<T>* to) {
  takeRun(job, array, size, 0, size, to);
  return to;
}
template <class T>
void put(const Job<T>& job, const Number<T>* from, int64_t size, T* array) {
  putRun(job, from, size, 0, size, array);
}
// Matrices whose columns lie `lead` numbers apart in lanes.
template <class T>
Number<T>* takeMatrix(const Job<T>& job, const T* array, int64_t rows, int64_t columns,
                      int64_t lead, Number<T>* to) {
  if (lead == rows) return take(job, array, rows * columns, to);
  for (int64_t j = 0; j < columns; ++j)
    takeRun(job, array, rows * columns, j * rows, rows, to + j * lead);
  return to;
}
template <class T>
void putMatrix(const Job<T>& job, const Number<T>* from, int64_t lead, int64_t rows,
               int64_t columns, T* array) {
  if (lead == rows) return put(job, from, rows * columns, array);
  for (int64_t j = 0; j < columns; ++j)
    putRun(job, from + j * lead, rows * columns, j * rows, rows, array);
}
template <class R>
void putIntegers(Mask<R> numbers, int64_t stride, int64_t count, int32_t* to) {
  for (int64_t l = 0; l < count; ++l) to[l * stride] = static_cast<int32_t>(numbers[l]);
}

template <class T>
Number<T>* scratchOf(const Job<T>& job) {
  return static_cast<Number<T>*>(job.scratch);
}

// Brings each lane's matrix near to 1; those that are not finite become zero.
template <class T>
class Scaled {
 public:
  using R = RealOf<T>;
  Scaled(Number<T>* a, int64_t size) {
    Vector<R> largest = {};
    for (int64_t i = 0; i < size; ++i) {
      const Vector<R> here = size1(a[i]);
      not_finite_ |= !(here - here == 0);
      largest = larger(here, largest);
    }
    scale_ = scaleOf<R>(not_finite_ ? Vector<R>{} : largest);
    for (int64_t i = 0; i < size; ++i) a[i] = pick(not_finite_, Number<T>{}, a[i] * scale_.by);
  }
  Vector<R> back(Vector<R> x) const { return x * scale_.back; }
  Mask<R> notFinite() const { return not_finite_; }

 private:
  Mask<R> not_finite_ = {};
  Scale<R> scale_;
};

// Less the products of `kRows` rows of x with a column of y: c(i, 0) -= sum over k of x(i, k) y(k,
// 0).
template <int kRows, class N>
TERCEL_PART void subtractRows(View<N> x, View<N> y, int64_t terms, View<N> c) {
  N sums[kRows];
  for (int r = 0; r < kRows; ++r) sums[r] = c(r, 0);
  for (int64_t k = 0; k < terms; ++k) {
    const N factor = y(k, 0);
    for (int r = 0; r < kRows; ++r) sums[r] = sums[r] - x(r, k) * factor;
  }
  for (int r = 0; r < kRows; ++r) c(r, 0) = sums[r];
}
template <class N>
View<N> from(View<N> v, int64_t i, int64_t j) {
  return {&v(i, j), v.row, v.column};
}
template <class N>
void subtractProducts(View<N> x, View<N> y, int64_t rows, int64_t terms, View<N> c) {
  int64_t i = 0;
  for (; i + 4 <= rows; i += 4) subtractRows<4>(from(x, i, 0), y, terms, from(c, i, 0));
  for (; i < rows; ++i) subtractRows<1>(from(x, i, 0), y, terms, from(c, i, 0));
}

}  // namespace
}  // namespace tercel::linalg::lanes
