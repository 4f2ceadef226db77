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
  // x = Q x, or Q^H x
  void applyToVector(bool adjoint, Eigen::Ref<VectorX<T>> x) {
    product_.head(size_).setZero();
    addAdjointProduct<T>(v_.leftCols(size_), x.data(), 1, product_.data());
    subtractFromVector(adjoint, x);
  }
  void apply(bool adjoint, MatrixRef<T> c) {
    if (c.cols() <= kFewColumns) {
      for (Index j = 0; j < c.cols(); ++j) applyToVector(adjoint, c.col(j));
      return;
    }
    MatrixX<T> product = MatrixX<T>::Zero(size_, c.cols());
    addProduct<T>(vectors().adjoint(), operand<T>(c), 1, product);
    subtract(adjoint, product, c);
  }
  // The same of an identity, which c is yet.
  void applyToIdentity(bool adjoint, MatrixRef<T> c) {
    if (c.cols() > kFewColumns)
      return subtract(adjoint, v_.topLeftCorner(c.cols(), size_).adjoint(), c);
    for (Index j = 0; j < c.cols(); ++j) {
      product_.head(size_) = v_.row(j).head(size_).adjoint();
      subtractFromVector(adjoint, c.col(j));
    }
  }

 private:
  static constexpr Index kFewColumns = 16;  // of which matrices are not worth packing

  // x -= V T product_, or V T^H product_
  void subtractFromVector(bool adjoint, Eigen::Ref<VectorX<T>> x) {
    for (Index n = size_; adjoint && n-- > 0;)
      product_[n] = t_.col(n).head(n + 1).dot(product_.head(n + 1));
    for (Index n = 0; !adjoint && n < size_; ++n) {
      const T last = product_[n];
      product_.head(n) += t_.col(n).head(n) * last;
      product_[n] = t_(n, n) * last;
    }
    addProduct<T>(v_.leftCols(size_), product_.data(), -1, x.data());
  }
  // c -= V T product, or V T^H product
  void subtract(bool adjoint, const MatrixX<T>& product, MatrixRef<T> c) const {
    const Operand<T> t = operand<T>(t_.topLeftCorner(size_, size_));
    MatrixX<T> turned = MatrixX<T>::Zero(size_, c.cols());
    addProduct<T>(adjoint ? t.adjoint() : t, operand<T>(product), 1, turned);
    addProduct<T>(vectors(), operand<T>(turned), -1, c);
  }

  MatrixX<T> v_, t_;
  VectorX<T> product_;
  Index size_ = 0;
};

// kPanel reflectors from `first` on, or as many as are left.
template <class T>
ReflectorBlock<T> blockAt(const Eigen::Ref<const MatrixX<T>>& vectors,
                          const Eigen::Ref<const VectorX<T>>& taus, Index first) {
  const Index size = std::min(kPanel, taus.size() - first), rows = vectors.rows() - first;
  ReflectorBlock<T> block(rows, size);
  for (Index i = 0; i < size; ++i)
    block.append(vectors.col(first + i).segment(first + i, rows - i), taus[first + i]);
  return block;
}

// The same as applyBlocks, a reflector at a time: without products of reflectors.
template <class T>
void applySingly(const Eigen::Ref<const MatrixX<T>>& vectors,
                 const Eigen::Ref<const VectorX<T>>& taus, bool adjoint, MatrixRef<T> c) {
  VectorX<T> v(c.rows());
  for (Index step = 0; step < taus.size(); ++step) {
    const Index j = adjoint ? step : taus.size() - 1 - step, rows = c.rows() - j;
    v.tail(rows) = vectors.col(j).tail(rows);
    reflectColumns<T>(v.tail(rows), adjoint ? Eigen::numext::conj(taus[j]) : taus[j],
                      c.bottomRows(rows));
  }
}

// c = Q c, or Q^H c where adjoint.
template <class T>
void applyBlocks(const Eigen::Ref<const MatrixX<T>>& vectors,
                 const Eigen::Ref<const VectorX<T>>& taus, bool adjoint, MatrixRef<T> c) {
  constexpr Index kMostSingly = 8;  // columns
  if (c.cols() <= kMostSingly) return applySingly<T>(vectors, taus, adjoint, c);
  const Index count = taus.size(), panels = (count + kPanel - 1) / kPanel;
  for (Index p = 0; p < panels; ++p) {
    const Index first = (adjoint ? p : panels - 1 - p) * kPanel;
    blockAt<T>(vectors, taus, first).apply(adjoint, c.bottomRows(c.rows() - first));
  }
}

// What the reflectors in the columns of `a` make of an identity: from the last of them on, each on
// the columns that it and later ones change.
template <class T>
void makeOrthogonalNear(MatrixRef<T> a, const Eigen::Ref<const VectorX<T>>& taus) {
  const Index m = a.rows(), n = a.cols(), k = taus.size();
  a.rightCols(n - k).setZero();
  for (Index j = k; j < n; ++j) a(j, j) = T(1);
  for (Index j = k; j-- > 0;) {
    auto v = a.col(j).tail(m - j);
    reflectColumns<T>(v, taus[j], a.bottomRightCorner(m - j, n - j - 1));
    v *= -taus[j];
    v[0] = T(1) - taus[j];
    a.col(j).head(j).setZero();
  }
}

// The first columns of Q. What is left of a reflector's first column in an identity it does not
// change.
template <class T>
void makeOrthogonal(const Eigen::Ref<const MatrixX<T>>& vectors,
                    const Eigen::Ref<const VectorX<T>>& taus, MatrixRef<T> c) {
  const Index count = taus.size();
  if (staysNear<T>(c)) {
    c.leftCols(count) = vectors.leftCols(count);
    return makeOrthogonalNear<T>(c, taus);
  }
  c.setIdentity();
  auto changed = [&](Index first) {
    return MatrixRef<T>(c.bottomRightCorner(c.rows() - first, c.cols() - first));
  };
  const Index last = count == 0 ? -kPanel : (count - 1) / kPanel * kPanel;
  for (Index first = last; first >= 0; first -= kPanel) {
    ReflectorBlock<T> block = blockAt<T>(vectors, taus, first);
    if (first == last)
      block.applyToIdentity(false, changed(first));
    else
      block.apply(false, changed(first));
  }
}

// Q of reflectors on the rows from 1 on.
template <class T>
MatrixX<T> orthogonalBelow(const Eigen::Ref<const MatrixX<T>>& vectors,
                           const Eigen::Ref<const VectorX<T>>& taus) {
  const Index count = taus.size();
  MatrixX<T> q = MatrixX<T>::Identity(count + 1, count + 1);
  makeOrthogonal<T>(vectors, taus, q.bottomRightCorner(count, count));
  return q;
}

}  // namespace tercel::linalg
