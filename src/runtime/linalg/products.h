// Products of matrices and triangular systems by the kernels of dense.h.
#pragma once
#include "runtime/linalg/dense.h"
#include "runtime/linalg/eigen.h"
#include "runtime/linalg/team.h"
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

// What changes the rows of c from `begin` to `end`, or its columns.
template <class T>
dense::Product<T> rowsOf(dense::Product<T> product, Index begin, Index end) {
  product.m = end - begin;
  product.a = product.a.at(begin, 0);
  product.c = product.c.at(begin, 0);
  return product;
}
template <class T>
dense::Product<T> columnsOf(dense::Product<T> product, Index begin, Index end) {
  product.n = end - begin;
  product.b = product.b.at(0, begin);
  product.c = product.c.at(0, begin);
  return product.lower ? rowsOf(product, begin, product.m) : product;
}

// Of m n k products of two numbers and their sums.
template <class T>
double operationsOf(Index m, Index n, Index k) {
  return double(m) * double(n) * double(k) * kParts<T> * kParts<T>;
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
  const bool by_columns = product.lower || product.n >= product.m;
  Team::share(by_columns ? product.n : product.m, dense::kLargestTile,
              operationsOf<T>(product.m, product.n, product.k), [&](Index begin, Index end) {
                dense::Product<T> part =
                    by_columns ? columnsOf(product, begin, end) : rowsOf(product, begin, end);
                kernels::KeptMemory<Real<T>> scratch;
                part.scratch =
                    scratch.take(dense::scratchElements(part.m, part.n, part.k, kParts<T>));
                dense::multiply(part);
              });
}
template <class T>
void addProduct(const Operand<T>& a, const Operand<T>& b, Real<T> factor, MatrixRef<T> c,
                Part part = Part::whole) {
  addProduct<T>(a, b, factor, stridedOf<T>(c), part);
}

// What a thread takes of a matrix that it multiplies by a vector: whole vectors of rows, and as
// many columns as the kernel takes at once.
constexpr Index kRowsOfPart = 64, kColumnsOfPart = 8;

// y += factor a x
template <class T>
void addProduct(const Eigen::Ref<const MatrixX<T>>& a, const T* x, Real<T> factor, T* y) {
  Team::share(a.rows(), kRowsOfPart, double(a.size()), [&](Index begin, Index end) {
    dense::multiplyVector<T>(
        {end - begin, a.cols(), a.data() + begin, a.outerStride(), x, y + begin, factor});
  });
}
// y += factor a^H x
template <class T>
void addAdjointProduct(const Eigen::Ref<const MatrixX<T>>& a, const T* x, Real<T> factor, T* y) {
  Team::share(a.cols(), kColumnsOfPart, double(a.size()), [&](Index begin, Index end) {
    dense::multiplyAdjoint<T>({a.rows(), end - begin, a.data() + begin * a.outerStride(),
                               a.outerStride(), x, y + begin, factor});
  });
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

// The triangle by halves, and the product between.
template <class T>
void solveByHalves(const Operand<T>& l, bool is_lower, bool is_unit, dense::Strided<T> x,
                   Index columns) {
  const Index n = l.rows;
  if (n <= dense::kTriangle) {
    return dense::solveTriangle<T>({n, columns, l.at, l.conjugate, is_unit, !is_lower, x});
  }
  const Index half = firstHalf(n), rest = n - half;
  const dense::Strided<T> below = x.at(half, 0);
  const Operand<T> first = l.block(0, 0, half, half), last = l.block(half, half, rest, rest);
  if (is_lower) {
    solveByHalves(first, true, is_unit, x, columns);
    addProduct<T>(l.block(half, 0, rest, half), {{x.data, x.row, x.column}, half, columns}, -1,
                  below);
    solveByHalves(last, true, is_unit, below, columns);
  } else {
    solveByHalves(last, false, is_unit, below, columns);
    addProduct<T>(l.block(0, half, half, rest), {{below.data, x.row, x.column}, rest, columns}, -1,
                  x);
    solveByHalves(first, false, is_unit, x, columns);
  }
}

// x = l^-1 x of a triangle l.
template <class T>
void solveTriangle(const Operand<T>& l, bool is_lower, bool is_unit, dense::Strided<T> x,
                   Index columns) {
  const double operations = operationsOf<T>(l.rows, columns, l.rows) / 2;
  Team::share(columns, dense::kLargestTile, operations, [&](Index begin, Index end) {
    solveByHalves(l, is_lower, is_unit, x.at(0, begin), end - begin);
  });
}

}  // namespace tercel::linalg
