// Products of matrices and triangular systems by the kernels of dense.h.
#pragma once
#include "runtime/linalg/dense.h"
#include "runtime/linalg/eigen.h"
#include "runtime/linalg/triangle.h"

namespace tercel::linalg {

// A matrix as an operand: a view of one that lies in memory, of its transpose or its adjoint.
template <class T>
struct Operand {
  dense::Strided<const T> at;
  Index rows = 0, cols = 0;
  bool conjugate = false;

  Operand transposed() const { return {at.transposed(), cols, rows, conjugate}; }
  Operand adjoint() const { return {at.transposed(), cols, rows, !conjugate}; }
  Operand block(Index i, Index j, Index block_rows, Index block_cols) const {
    return {at.at(i, j), block_rows, block_cols, conjugate};
  }
};
template <class T>
Operand<T> operand(const Eigen::Ref<const MatrixX<T>>& a) {
  return {{a.data(), 1, a.outerStride()}, a.rows(), a.cols()};
}

template <class T>
dense::Strided<T> stridedOf(MatrixRef<T> a) {
  return {a.data(), 1, a.outerStride()};
}

enum class Part { whole, lower };  // lower: on and below the diagonal

// c += factor a b, of c or of its transpose.
template <class T>
void addProduct(const Operand<T>& a, const Operand<T>& b, Real<T> factor, dense::Strided<T> c,
                Part part = Part::whole) {
  if (c.row != 1) return addProduct(b.transposed(), a.transposed(), factor, c.transposed(), part);
  dense::Product<T> product{.m = a.rows,
                            .n = b.cols,
                            .k = a.cols,
                            .a = a.at,
                            .b = b.at,
                            .conjugate_a = a.conjugate,
                            .conjugate_b = b.conjugate,
                            .factor = factor,
                            .c = c,
                            .lower = part == Part::lower};
  if (product.m == 0 || product.n == 0 || product.k == 0) return;
  kernels::KeptMemory<Real<T>> scratch;
  product.scratch = scratch.take(
      dense::scratchElements(product.m, product.n, product.k, sizeof(T) / sizeof(Real<T>)));
  dense::multiply(product);
}
template <class T>
void addProduct(const Operand<T>& a, const Operand<T>& b, Real<T> factor, MatrixRef<T> c,
                Part part = Part::whole) {
  addProduct<T>(a, b, factor, stridedOf<T>(c), part);
}

// y += factor a x
template <class T>
void addProduct(const Eigen::Ref<const MatrixX<T>>& a, const T* x, Real<T> factor, T* y) {
  dense::multiplyVector<T>({a.rows(), a.cols(), a.data(), a.outerStride(), x, y, factor});
}
// y += factor a^H x
template <class T>
void addAdjointProduct(const Eigen::Ref<const MatrixX<T>>& a, const T* x, Real<T> factor, T* y) {
  dense::multiplyAdjoint<T>({a.rows(), a.cols(), a.data(), a.outerStride(), x, y, factor});
}
// y += factor a x, of a Hermitian matrix's lower triangle
template <class T>
void addHermitianProduct(const Eigen::Ref<const MatrixX<T>>& a, const T* x, Real<T> factor, T* y) {
  dense::multiplyHermitian<T>({a.rows(), a.cols(), a.data(), a.outerStride(), x, y, factor});
}

// Where algorithms by halves divide n > kTriangle columns.
inline Index firstHalf(Index n) {
  return (n / 2 + dense::kTriangle - 1) / dense::kTriangle * dense::kTriangle;
}

// x = l^-1 x of a triangle l: halves of it, and the product between.
template <class T>
void solveTriangle(const Operand<T>& l, bool is_lower, bool is_unit, dense::Strided<T> x,
                   Index columns) {
  const Index n = l.rows;
  if (n <= dense::kTriangle) {
    return dense::solveTriangle<T>({n, columns, l.at, l.conjugate, is_unit, !is_lower, x});
  }
  const Index half = firstHalf(n), rest = n - half;
  const dense::Strided<T> below = x.at(half, 0);
  const Operand<T> first = l.block(0, 0, half, half), last = l.block(half, half, rest, rest);
  if (is_lower) {
    solveTriangle(first, true, is_unit, x, columns);
    addProduct<T>(l.block(half, 0, rest, half), {{x.data, x.row, x.column}, half, columns}, -1,
                  below);
    solveTriangle(last, true, is_unit, below, columns);
  } else {
    solveTriangle(last, false, is_unit, below, columns);
    addProduct<T>(l.block(0, half, half, rest), {{below.data, x.row, x.column}, rest, columns}, -1,
                  x);
    solveTriangle(first, false, is_unit, x, columns);
  }
}

}  // namespace tercel::linalg
