#include "runtime/linalg/schur_form.h"

#include "runtime/linalg/reflector_block.h"
#include "runtime/linalg/schur_iteration.h"

namespace tercel::linalg {
namespace {

template <class T>
void readValues(Schur<T>& schur) {
  const MatrixX<T>& t = schur.t;
  schur.values = t.diagonal().template cast<Complex<T>>();
  for (Index i = 0; i + 1 < t.rows(); ++i) {
    if (t(i + 1, i) == T(0)) continue;
    const Real<T> w = std::sqrt(std::abs(t(i, i + 1))) * std::sqrt(std::abs(t(i + 1, i)));
    schur.values[i] += Complex<T>(0, w);
    schur.values[i + 1] -= Complex<T>(0, w);
    ++i;
  }
}

}  // namespace

// Of a matrix that stays near: a reflector at a time.
template <class T>
void hessenbergNear(MatrixRef<T> a, Index low, Index high, Eigen::Ref<VectorX<T>> taus) {
  for (Index k = low; k + 1 < high; ++k) {
    const Index rows = high - k - 1;
    auto v = a.col(k).segment(k + 1, rows);
    taus[k] = makeReflector<T>(v);
    reflectRows<T>(v, taus[k], a.block(0, k + 1, high, rows));
    reflectColumns<T>(v, Eigen::numext::conj(taus[k]),
                      a.block(k + 1, k + 1, rows, a.cols() - k - 1));
  }
}

template <class T>
void hessenberg(MatrixRef<T> a, Index low, Index high, Eigen::Ref<VectorX<T>> taus) {
  const Index n = a.rows();
  taus.setZero();
  if (staysNearBothWays<T>(a)) return hessenbergNear<T>(a, low, high, taus);
  VectorX<T> row(kPanel), v;
  for (Index first = low; first + 1 < high; first += kPanel) {
    const Index end = std::min(first + kPanel, high - 1), rows = high - first - 1;
    ReflectorBlock<T> block(rows, end - first);
    // a V T: a (I - V T V^H) is a - right V^H
    MatrixX<T> right = MatrixX<T>::Zero(high, end - first);
    for (Index k = first; k < end; ++k) {
      const Index done = k - first;
      const Operand<T> vectors = block.vectors();
      for (Index i = 0; i < done; ++i) row[i] = Eigen::numext::conj(vectors.at(done - 1, i));
      addProduct<T>(right.leftCols(done), row.data(), -1, &a(0, k));
      block.applyToVector(true, a.col(k).segment(first + 1, rows));
      v = a.col(k).segment(k + 1, high - k - 1);
      const T tau = taus[k] = makeReflector<T>(v);
      a.col(k).segment(k + 1, high - k - 1) = v;
      v[0] = T(1);
      block.append(v, tau);
      addProduct<T>(a.block(0, k + 1, high, high - k - 1), v.data(), 1, &right(0, done));
      addProduct<T>(right.leftCols(done), block.products(), -1, &right(0, done));
      right.col(done) *= tau;
    }
    const Operand<T> vectors = block.vectors();
    addProduct<T>(operand<T>(right),
                  vectors.block(end - first - 1, 0, high - end, end - first).adjoint(), -1,
                  a.block(0, end, high, high - end));
    block.apply(true, a.block(first + 1, end, rows, n - end));
  }
}

template <class T>
Schur<T> schurForm(MatrixX<T> a, SchurParts parts) {
  const Index n = a.rows();
  const Real<T> scale = scaleOf<T>(a);
  a = a / scale;
  VectorX<T> taus(n - 1);
  hessenberg<T>(a, 0, n, taus);
  Schur<T> schur;
  if (parts == SchurParts::all)
    schur.u = orthogonalBelow<T>(a.bottomLeftCorner(n - 1, n - 1), taus);
  for (Index j = 0; j + 2 < n; ++j) a.col(j).tail(n - j - 2).setZero();
  schur.converged = iterateSchur<T>(a, schur.u, parts != SchurParts::values);
  if (!schur.converged) return schur;
  schur.t = a * scale;
  readValues(schur);
  return schur;
}

template <class T>
VectorX<Index> isolate(MatrixX<T>& a) {
  const Index n = a.rows();
  VectorX<Index> order = VectorX<Index>::LinSpaced(n, 0, n - 1);
  Index first = 0, end = n;
  auto exchange = [&](Index i, Index j) {
    if (i == j) return;
    a.col(i).swap(a.col(j));
    a.row(i).swap(a.row(j));
    std::swap(order[i], order[j]);
  };
  // Whether all between `first` and `end` beside the diagonal is zero in a row, or in a column.
  auto alone = [&](Index i, bool row) {
    for (Index j = first; j < end; ++j) {
      if (j != i && (row ? a(i, j) : a(j, i)) != T(0)) return false;
    }
    return true;
  };
  for (bool found = true; found && end > first;) {
    found = false;
    for (Index i = end; i-- > first && !found;) {
      if (!alone(i, true)) continue;
      exchange(i, --end);
      found = true;
    }
  }
  for (bool found = true; found && end > first;) {
    found = false;
    for (Index i = first; i < end && !found; ++i) {
      if (!alone(i, false)) continue;
      exchange(i, first++);
      found = true;
    }
  }
  return order;
}

#define INSTANTIATE(T)                                                             \
  template void hessenberg<T>(MatrixRef<T>, Index, Index, Eigen::Ref<VectorX<T>>); \
  template Schur<T> schurForm<T>(MatrixX<T>, SchurParts);                          \
  template VectorX<Index> isolate<T>(MatrixX<T>&);
TERCEL_LINALG_TYPES(INSTANTIATE)

}  // namespace tercel::linalg
