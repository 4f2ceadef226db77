// QR factorisations, and the orthogonal matrices that they keep as reflectors.
#include <utility>

#include "runtime/linalg/orthogonal.h"
#include "runtime/linalg/reflector_block.h"
#include "runtime/linalg/side_by_side.h"

namespace tercel::linalg {
namespace {

template <class T>
void factorNear(MatrixRef<T> a, Eigen::Ref<VectorX<T>> taus) {
  for (Index j = 0; j < taus.size(); ++j) {
    const Index rows = a.rows() - j;
    auto below = a.col(j).tail(rows);
    taus[j] = makeReflector<T>(below);
    reflectColumns<T>(below, Eigen::numext::conj(taus[j]),
                      a.bottomRightCorner(rows, a.cols() - j - 1));
  }
}

// Norms of what is left of each column. They are kept by subtraction while that is exact enough: as
// in LAPACK Working Note 176.
template <class T>
class ColumnNorms {
 public:
  explicit ColumnNorms(const MatrixRef<T>& a) : norms_(a.cols()), exact_(a.cols()) {
    for (Index j = 0; j < a.cols(); ++j) norms_[j] = exact_[j] = normOf(a.col(j));
  }
  Index largestFrom(Index j) const {
    Index at;
    norms_.tail(norms_.size() - j).maxCoeff(&at);
    return j + at;
  }
  void swap(Index i, Index j) {
    std::swap(norms_[i], norms_[j]);
    std::swap(exact_[i], exact_[j]);
  }
  // Row i is done. False where a norm is to be computed anew.
  bool update(const MatrixRef<T>& a, Index i) {
    static const Real<T> kTolerance = std::sqrt(std::numeric_limits<Real<T>>::epsilon());
    bool is_exact = true;
    for (Index j = i + 1; j < a.cols(); ++j) {
      if (norms_[j] == 0) continue;
      const Real<T> ratio = std::abs(a(i, j)) / norms_[j];
      const Real<T> left = std::max<Real<T>>(0, (1 + ratio) * (1 - ratio));
      const Real<T> since = norms_[j] / exact_[j];
      norms_[j] *= std::sqrt(left);
      if (left * since * since > kTolerance) continue;
      exact_[j] = kUnknown;
      is_exact = false;
    }
    return is_exact;
  }
  // Rows before `row` are done.
  void compute(const MatrixRef<T>& a, Index row) {
    for (Index j = row; j < a.cols(); ++j)
      if (exact_[j] == kUnknown) norms_[j] = exact_[j] = normOf(a.col(j).tail(a.rows() - row));
  }

 private:
  static constexpr Real<T> kUnknown = -1;
  VectorX<Real<T>> norms_, exact_;
};

// A factorisation that chooses its columns. The others see a panel's reflectors when it is done, by
// one product: Quintana-Orti, Sun and Bischof, 1998.
template <class T>
class PivotedFactor {
 public:
  PivotedFactor(MatrixRef<T> a, Eigen::Ref<VectorX<int32_t>> order, Eigen::Ref<VectorX<T>> taus)
      : a_(a), order_(order), taus_(taus), norms_(a), product_(kPanel) {}

  // The first `fixed` columns stay.
  void run(Index fixed) {
    for (Index k = 0; k < taus_.size();) k = factorPanel(k, fixed);
  }

 private:
  // From column `first` on; returns where it ends: early where a norm is needed that only the product
  // gives. Column j becomes a(., j) - V f(j - first, .)^H.
  Index factorPanel(Index first, Index fixed) {
    const Index end = std::min(first + kPanel, taus_.size());
    MatrixX<T> f = MatrixX<T>::Zero(a_.cols() - first, end - first);
    Index k = first;
    for (bool is_exact = true; is_exact && k < end; ++k) {
      const Index pivot = k < fixed ? k : norms_.largestFrom(k);
      if (pivot != k) exchange(k, pivot, first, f);
      eliminate(k, first, f);
      is_exact = norms_.update(a_, k);
    }
    const Index rows = a_.rows() - k, cols = a_.cols() - k;
    addProduct<T>(operand<T>(a_.block(k, first, rows, k - first)),
                  operand<T>(f.block(k - first, 0, cols, k - first)).adjoint(), -1,
                  a_.bottomRightCorner(rows, cols));
    norms_.compute(a_, k);
    return k;
  }
  void exchange(Index k, Index pivot, Index first, MatrixX<T>& f) {
    a_.col(k).swap(a_.col(pivot));
    f.row(k - first).swap(f.row(pivot - first));
    std::swap(order_[k], order_[pivot]);
    norms_.swap(k, pivot);
  }
  void eliminate(Index k, Index first, MatrixX<T>& f) {
    const Index done = k - first, rows = a_.rows() - k, cols = a_.cols() - k - 1;
    const auto before = a_.block(k, first, rows, done);
    product_.head(done) = f.row(done).head(done).adjoint();
    addProduct<T>(before, product_.data(), -1, &a_(k, k));
    const T tau = taus_[k] = makeReflector<T>(a_.col(k).tail(rows));
    const T diagonal = std::exchange(a_(k, k), T(1));

    auto next = f.col(done).tail(cols);
    product_.head(done).setZero();
    addAdjointProduct<T>(before, &a_(k, k), 1, product_.data());
    addAdjointProduct<T>(a_.block(k, k + 1, rows, cols), &a_(k, k), 1, next.data());
    addProduct<T>(f.bottomLeftCorner(cols, done), product_.data(), -1, next.data());
    next *= tau;

    // Row k, which norms are updated by, is as it will be.
    VectorX<T> row = a_.row(k).tail(cols).adjoint();
    product_.head(done + 1) = a_.row(k).segment(first, done + 1).adjoint();
    addProduct<T>(f.bottomLeftCorner(cols, done + 1), product_.data(), -1, row.data());
    a_.row(k).tail(cols) = row.adjoint();
    a_(k, k) = diagonal;
  }

  MatrixRef<T> a_;
  Eigen::Ref<VectorX<int32_t>> order_;
  Eigen::Ref<VectorX<T>> taus_;
  ColumnNorms<T> norms_;
  VectorX<T> product_;
};

// Columns whose `order` is not 0 come first, as they are; order becomes the columns' numbers,
// from 1.
template <class T>
void factorPivoting(MatrixRef<T> a, Eigen::Ref<VectorX<int32_t>> order,
                    Eigen::Ref<VectorX<T>> taus) {
  Index fixed = 0;
  for (Index j = 0; j < a.cols(); ++j) {
    const bool stays = order[j] != 0;
    order[j] = static_cast<int32_t>(j + 1);
    if (!stays) continue;
    if (j != fixed) a.col(j).swap(a.col(fixed));
    std::swap(order[j], order[fixed++]);
  }
  PivotedFactor<T>(a, order, taus).run(fixed);
}

}  // namespace

template <class T>
void factorOrthogonal(MatrixRef<T> a, Eigen::Ref<VectorX<T>> taus) {
  if (staysNear<T>(a)) return factorNear<T>(a, taus);
  for (Index first = 0; first < taus.size(); first += kPanel) {
    const Index end = std::min(first + kPanel, taus.size()), rows = a.rows() - first;
    ReflectorBlock<T> block(rows, end - first);
    for (Index j = first; j < end; ++j) {
      block.applyToVector(true, a.col(j).tail(rows));
      auto below = a.col(j).tail(a.rows() - j);
      taus[j] = makeReflector<T>(below);
      block.append(below, taus[j]);
    }
    block.apply(true, a.bottomRightCorner(rows, a.cols() - end));
  }
}

template <class T>
Status geqrf(const Call& call) {
  Arguments arguments(call, 1, 2);
  const Index m = arguments.rows(), n = arguments.cols(), k = std::min(m, n);
  arguments.operand<T>(0, {m, n});
  const Batch<T> out = arguments.result<T>(0, {m, n}), taus = arguments.result<T>(1, {k});
  TERCEL_TRY(arguments.status());
  arguments.copy(0, 0);
  const double cost = 2.0 * m * n * k;
  if (isBatchForLanes(*call.signature)) {
    const Index lead = laneLead(m);
    const lanes::Job<T> job{.a = out.data, .taus = taus.data, .m = m, .n = n, .lead = lead};
    return forEachInLanes<T>(call, arguments.batch(), cost, lead * n + k, job, lanes::geqrf<T>);
  }
  return forEachIn(call, arguments.batch(), cost,
                   [&](Index b) { factorOrthogonal<T>(out[b], taus.vector(b)); });
}

template <class T>
Status geqp3(const Call& call) {
  Arguments arguments(call, 2, 3);
  const Index m = arguments.rows(), n = arguments.cols(), k = std::min(m, n);
  arguments.operand<T>(0, {m, n});
  arguments.operand<int32_t>(1, {n});
  const Batch<T> out = arguments.result<T>(0, {m, n});
  const Batch<int32_t> order = arguments.result<int32_t>(1, {n});
  const Batch<T> taus = arguments.result<T>(2, {k});
  TERCEL_TRY(arguments.status());
  arguments.copy(0, 0);
  arguments.copy(1, 1);
  return forEachIn(call, arguments.batch(), 2.0 * m * n * k, [&](Index b) {
    factorPivoting<T>(out[b], order.vector(b), taus.vector(b));
  });
}

template <class T>
Status orgqr(const Call& call) {
  Arguments arguments(call, 2, 1);
  const Index m = arguments.rows(), n = arguments.cols(), k = arguments.operandSize(1, 0);
  arguments.operand<T>(0, {m, n});
  const Batch<const T> taus = arguments.operand<T>(1, {k});
  const Batch<T> out = arguments.result<T>(0, {m, n});
  arguments.require(m >= n && n >= k, "more columns than rows, or reflectors than columns");
  TERCEL_TRY(arguments.status());
  arguments.copy(0, 0);
  const double cost = 4.0 * m * n * k;
  if (isBatchForLanes(*call.signature)) {
    const Index lead = laneLead(m);
    const lanes::Job<T> job{
        .a = out.data, .given = taus.data, .m = m, .n = n, .k = k, .lead = lead};
    return forEachInLanes<T>(call, arguments.batch(), cost, lead * n + k, job, lanes::orgqr<T>);
  }
  return forEachIn(call, arguments.batch(), cost, [&](Index b) {
    if (staysNear<T>(out[b])) return makeOrthogonalNear<T>(out[b], taus.vector(b));
    const MatrixX<T> vectors = out[b].leftCols(k);
    makeOrthogonal<T>(vectors, taus.vector(b), out[b]);
  });
}

template <class T>
Status ormqr(const Call& call) {
  Arguments arguments(call, 3, 1, 2);
  const Index m = arguments.rows(), n = arguments.cols();
  const bool left = arguments.number("left"), adjoint = arguments.number("transpose");
  const Index rows = left ? m : n, columns = arguments.operandSize(0, 1);
  const Index k = arguments.operandSize(1, 0);
  const Batch<const T> vectors = arguments.operand<T>(0, {rows, columns});
  const Batch<const T> taus = arguments.operand<T>(1, {k});
  arguments.operand<T>(2, {m, n});
  const Batch<T> out = arguments.result<T>(0, {m, n});
  arguments.require(rows >= k && columns >= k, "more reflectors than rows or columns");
  TERCEL_TRY(arguments.status());
  arguments.copy(2, 0);
  const double cost = 4.0 * m * n * k;
  if (isBatchForLanes(*call.signature)) {
    const Index lead = laneLead(m), given_lead = laneLead(rows);
    const lanes::Job<T> job{.a = out.data,
                            .given = taus.data,
                            .reflectors = vectors.data,
                            .m = m,
                            .n = n,
                            .k = k,
                            .given_columns = columns,
                            .lead = lead,
                            .given_lead = given_lead,
                            .triangle = {.left = left, .transposed = adjoint}};
    return forEachInLanes<T>(call, arguments.batch(), cost, given_lead * columns + lead * n + k,
                             job, lanes::ormqr<T>);
  }
  return forEachIn(call, arguments.batch(), cost, [&](Index b) {
    if (left) return applyBlocks<T>(vectors[b], taus.vector(b), adjoint, out[b]);
    MatrixX<T> turned = out[b].adjoint();  // C Q = (Q^H C^H)^H
    applyBlocks<T>(vectors[b], taus.vector(b), !adjoint, turned);
    out[b] = turned.adjoint();
  });
}

#define INSTANTIATE(T)                                                     \
  template void factorOrthogonal<T>(MatrixRef<T>, Eigen::Ref<VectorX<T>>); \
  template Status geqrf<T>(const Call&);                                   \
  template Status geqp3<T>(const Call&);                                   \
  template Status orgqr<T>(const Call&);                                   \
  template Status ormqr<T>(const Call&);
TERCEL_LINALG_TYPES(INSTANTIATE)

}  // namespace tercel::linalg
