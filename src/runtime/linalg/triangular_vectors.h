// Eigenvectors of Schur forms, many at a time: what a block of rows gives to those above it is one
// product.
#pragma once
#include "runtime/linalg/kept_vector.h"
#include "runtime/linalg/products.h"

namespace tercel::linalg {

// Of an upper triangular matrix whose elements are of the order of 1, of real numbers with blocks
// of two rows whose diagonals are equal: two columns have real and imaginary part of the first
// vector of such a block.
template <class T>
class TriangularVectors {
 public:
  explicit TriangularVectors(const MatrixX<T>& t)
      : t_(t), x_(MatrixX<T>::Zero(t.rows(), t.rows())), tiny_(kExact<R> * R(t.rows())) {}

  const MatrixX<T>& find() {
    for (Index end = t_.rows(); end > 0; end = startOf(end)) findGroup(startOf(end), end);
    return x_;
  }

 private:
  using R = Real<T>;
  using C = Complex<T>;
  static constexpr Index kGroup = 32;
  static constexpr R kLarge = sizeof(R) == 4 ? R(1e15) : R(1e140);

  // A vector: its column, or two, and the eigenvalue.
  struct Vector {
    Index column, size;
    C value;
  };

  // Of the group of rows, or of vectors, that ends at `end`: no block is divided.
  Index startOf(Index end) const {
    Index start = (end - 1) / kGroup * kGroup;
    if (start > 0 && t_(start, start - 1) != T(0)) ++start;
    return start < end ? start : startOf(start - 1);
  }
  Index sizeAt(Index i) const { return i + 1 < t_.rows() && t_(i + 1, i) != T(0) ? 2 : 1; }

  void findGroup(Index first, Index end) {
    KeptVector<Vector> vectors;
    for (Index k = first; k < end; k += sizeAt(k)) vectors.push_back(begin(k, first));
    for (Index last = end; last > 0; last = startOf(last)) {
      const Index start = startOf(last);
      for (const Vector& vector : vectors) {
        solve(vector, start, std::min(last, vector.column));
        shrink(vector, kLarge);
      }
      if (start == 0) break;
      addProduct<T>(operand<T>(t_.block(0, start, start, last - start)),
                    operand<T>(x_.block(start, first, last - start, end - first)), -1,
                    x_.block(0, first, start, end - first));
    }
    for (const Vector& vector : vectors) shrink(vector, 0);
  }

  // The elements of a vector that its block gives, and what those from `start` on take from them.
  Vector begin(Index k, Index start) {
    const Vector vector{k, sizeAt(k), valueAt(k)};
    if (vector.size == 1) {
      set(vector, k, C(1));
    } else {
      const R above = Eigen::numext::real(t_(k, k + 1)), size = vector.value.imag();
      const bool is_first = std::abs(above) >= size;
      set(vector, k, is_first ? C(1) : C(0, -above / size));
      set(vector, k + 1, is_first ? C(0, size / above) : C(1));
    }
    giveUp(vector, k, vector.size, start);
    return vector;
  }
  C valueAt(Index k) const {
    if (sizeAt(k) == 1) return C(t_(k, k));
    const R size = std::sqrt(std::abs(t_(k, k + 1))) * std::sqrt(std::abs(t_(k + 1, k)));
    return {Eigen::numext::real(t_(k, k)), size};
  }

  C get(const Vector& v, Index i) const {
    if constexpr (kIsComplex<T>) {
      return x_(i, v.column);
    } else {
      return {x_(i, v.column), v.size == 2 ? x_(i, v.column + 1) : R(0)};
    }
  }
  void set(const Vector& v, Index i, C number) {
    if constexpr (kIsComplex<T>) {
      x_(i, v.column) = number;
    } else {
      x_(i, v.column) = number.real();
      if (v.size == 2) x_(i, v.column + 1) = number.imag();
    }
  }
  // What rows [start, i) take from the next `size` elements.
  void giveUp(const Vector& v, Index i, Index size, Index start) {
    for (Index j = i; j < i + size; ++j)
      for (Index c = v.column; c < v.column + v.size; ++c)
        x_.col(c).segment(start, i - start) -= t_.col(j).segment(start, i - start) * x_(j, c);
  }

  // Elements of the rows [start, end), from those below.
  void solve(const Vector& v, Index start, Index end) {
    for (Index i = end; i > start;) {
      const Index size = i - start > 1 && t_(i - 1, i - 2) != T(0) ? 2 : 1;
      i -= size;
      if (size == 2) {
        solveTwo(v, i);
      } else {
        divide(v, i, notTiny(C(t_(i, i)) - v.value, v));
      }
      giveUp(v, i, size, start);
    }
  }
  // (t - value) (y, z) = (f, g), which are elements i and i + 1, of a block of two rows.
  void solveTwo(const Vector& v, Index i) {
    C a = C(t_(i, i)) - v.value, b = C(t_(i, i + 1)), c = C(t_(i + 1, i)), d = a;
    C f = get(v, i), g = get(v, i + 1);
    if (std::abs(c) > std::abs(a)) {
      std::swap(a, c);
      std::swap(b, d);
      std::swap(f, g);
    }
    const C ratio = c / a;
    set(v, i, f);
    set(v, i + 1, g - ratio * f);
    divide(v, i + 1, notTiny(d - ratio * b, v));
    set(v, i, get(v, i) - b * get(v, i + 1));
    divide(v, i, a);
  }
  // Eigenvalues that are equal have one eigenvector, or almost.
  C notTiny(C d, const Vector& v) const {
    const R least = std::max(std::numeric_limits<R>::epsilon() * std::abs(v.value), tiny_);
    return sizeOf(d) < least ? C(least) : d;
  }
  // Where the quotient would be large, all elements become smaller first.
  void divide(const Vector& v, Index i, C by) {
    const R size = sizeOf(get(v, i)), most = sizeOf(by) * kLarge;
    if (size > most) x_.middleCols(v.column, v.size) *= most / size;
    set(v, i, get(v, i) / by);
  }
  // Where the largest element is larger than this, it becomes 1.
  void shrink(const Vector& v, R most) {
    auto x = x_.middleCols(v.column, v.size);
    const R size = largestPart(x);
    if (size > most) x = x / size;
  }

  const MatrixX<T>& t_;
  MatrixX<T> x_;
  const R tiny_;
};

}  // namespace tercel::linalg
