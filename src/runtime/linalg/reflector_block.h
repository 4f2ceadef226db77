// Several of Householder's reflectors as one matrix, H(0) ... H(k - 1) = I - V T V^H with an upper
// triangle T: Schreiber and Van Loan, 1989.
#pragma once
#include "runtime/linalg/products.h"
#include "runtime/linalg/reflectors.h"

namespace tercel::linalg {

template <class T>
class ReflectorBlock {
 public:
  // Of no reflectors yet, on `rows` rows.
  ReflectorBlock(Index rows, Index most)
      : v_(MatrixX<T>::Zero(rows, most)), t_(MatrixX<T>::Zero(most, most)), product_(most) {}

  Index size() const { return size_; }
  Operand<T> vectors() const { return operand<T>(v_.leftCols(size_)); }
  // Of the last reflector's vector with those before it.
  const T* products() const { return product_.data(); }

  // The next reflector, on the rows from size() on: v[0] is 1, whatever it is here.
  void append(const Eigen::Ref<const VectorX<T>>& v, T tau) {
    const Index k = size_++, rows = v_.rows() - k;
    v_(k, k) = T(1);
    v_.col(k).tail(rows - 1) = v.tail(rows - 1);
    product_.head(k).setZero();
    addAdjointProduct<T>(v_.block(k, 0, rows, k), &v_(k, k), 1, product_.data());
    auto column = t_.col(k);
    for (Index i = 0; i < k; ++i) column.head(i + 1) -= t_.col(i).head(i + 1) * (tau * product_[i]);
    column[k] = tau;
  }
  // x = Q^H x
  void applyAdjoint(Eigen::Ref<VectorX<T>> x) {
    product_.head(size_).setZero();
    addAdjointProduct<T>(v_.leftCols(size_), x.data(), 1, product_.data());
    for (Index i = size_; i-- > 0;) product_[i] = t_.col(i).head(i + 1).dot(product_.head(i + 1));
    addProduct<T>(v_.leftCols(size_), product_.data(), -1, x.data());
  }
  // c = Q c, or Q^H c
  void apply(bool adjoint, MatrixRef<T> c) const {
    const Operand<T> v = vectors(), t = operand<T>(t_.topLeftCorner(size_, size_));
    MatrixX<T> product = MatrixX<T>::Zero(size_, c.cols()), turned = product;
    addProduct<T>(v.adjoint(), operand<T>(c), 1, product);
    addProduct<T>(adjoint ? t.adjoint() : t, operand<T>(product), 1, turned);
    addProduct<T>(v, operand<T>(turned), -1, c);
  }

 private:
  MatrixX<T> v_, t_;
  VectorX<T> product_;
  Index size_ = 0;
};

// c = Q c, or Q^H c where adjoint. Where c is an identity yet, its columns left of a reflector's
// are not changed by it.
template <class T>
void applyBlocks(const Eigen::Ref<const MatrixX<T>>& vectors,
                 const Eigen::Ref<const VectorX<T>>& taus, bool adjoint, bool is_identity,
                 MatrixRef<T> c) {
  const Index count = taus.size(), panels = (count + kPanel - 1) / kPanel;
  for (Index p = 0; p < panels; ++p) {
    const Index first = (adjoint ? p : panels - 1 - p) * kPanel;
    const Index size = std::min(kPanel, count - first), rows = c.rows() - first;
    ReflectorBlock<T> block(rows, size);
    for (Index i = 0; i < size; ++i)
      block.append(vectors.col(first + i).segment(first + i, rows - i), taus[first + i]);
    block.apply(adjoint, c.bottomRightCorner(rows, is_identity ? c.cols() - first : c.cols()));
  }
}

}  // namespace tercel::linalg
