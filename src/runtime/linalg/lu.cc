// LU with exchanges of rows.
#include "runtime/linalg/products.h"
#include "runtime/linalg/side_by_side.h"

namespace tercel::linalg {
namespace {

constexpr Index kFewColumns = dense::kPanelColumns;  // that are factorised one by one

using Pivots = Eigen::Ref<VectorX<int32_t>>;  // from 0

// Each row goes at once to where the exchanges take it in the end.
template <class T>
void exchangeRows(MatrixRef<T> a, const Pivots& pivots) {
  struct Move {
    T number;
    int32_t from, to;
  };
  kernels::KeptMemory<Move> memory;
  Move* moves = memory.take(a.rows());
  for (Index i = 0; i < a.rows(); ++i) moves[i].from = static_cast<int32_t>(i);
  for (Index i = 0; i < pivots.size(); ++i) std::swap(moves[i].from, moves[pivots[i]].from);
  Index count = 0;
  for (Index i = 0; i < a.rows(); ++i) {
    if (moves[i].from == i) continue;
    moves[count].from = moves[i].from;
    moves[count++].to = static_cast<int32_t>(i);
  }
  for (Index j = 0; j < a.cols(); ++j) {
    T* column = &a(0, j);
    for (Index i = 0; i < count; ++i) moves[i].number = column[moves[i].from];
    for (Index i = 0; i < count; ++i) column[moves[i].to] = moves[i].number;
  }
}

template <class T>
void divide(Eigen::Ref<VectorX<T>> x, T by) {
  if (sizeOf(by) >= kExact<Real<T>>) {
    x *= T(1) / by;
  } else {
    for (T& number : x) number = number / by;
  }
}

// Each column less what those before it give it. The first pivot that is 0, from 1; 0: none.
template <class T>
int32_t factorColumns(MatrixRef<T> a, Pivots pivots) {
  const Index m = a.rows();
  int32_t zero = 0;
  for (Index j = 0; j < a.cols(); ++j) {
    T* column = &a(0, j);
    for (Index k = 0; k < std::min(j, m); ++k)
      for (Index i = k + 1; i < std::min(j, m); ++i) column[i] -= a(i, k) * column[k];
    if (j >= m) continue;
    addProduct<T>(a.block(j, 0, m - j, j), column, -1, column + j);
    Index pivot = j;
    Real<T> largest = sizeOf(column[j]);
    for (Index i = j + 1; i < m; ++i) {
      const Real<T> size = sizeOf(column[i]);
      if (size > largest) largest = size, pivot = i;
    }
    pivots[j] = static_cast<int32_t>(pivot);
    if (pivot != j) a.row(j).swap(a.row(pivot));
    if (largest != 0) {
      divide<T>(a.col(j).tail(m - j - 1), column[j]);
    } else if (zero == 0) {
      zero = static_cast<int32_t>(j + 1);
    }
  }
  return zero;
}

template <class T>
int32_t factorFew(MatrixRef<T> a, Pivots pivots) {
  if constexpr (kIsComplex<T>) {
    return factorColumns<T>(a, pivots);
  } else {
    int32_t zero = 0;
    kernels::KeptMemory<T> scratch;
    dense::factorPanel<T>({a.rows(), a.cols(), a.data(), a.outerStride(), pivots.data(), &zero,
                           scratch.take(dense::panelElements(a.rows()))});
    return zero;
  }
}

// By halves of the columns: Toledo, 1997.
template <class T>
int32_t factor(MatrixRef<T> a, Pivots pivots) {
  const Index m = a.rows(), n = a.cols();
  if (n <= kFewColumns && (n <= m || kIsComplex<T>)) return factorFew<T>(a, pivots);
  const Index half = std::min((n / 2 + kFewColumns - 1) / kFewColumns * kFewColumns, m);
  const Index below = m - half;
  MatrixRef<T> left = a.leftCols(half), right = a.rightCols(n - half);
  Pivots first = pivots.head(half), last = pivots.tail(pivots.size() - half);
  const int32_t zero = factor<T>(left, first);
  exchangeRows<T>(right, first);
  solveTriangle<T>(operand<T>(left.topRows(half)), true, true, stridedOf<T>(right), n - half);
  if (below == 0) return zero;
  MatrixRef<T> corner = right.bottomRows(below), beside = left.bottomRows(below);
  addProduct<T>(operand<T>(beside), operand<T>(right.topRows(half)), -1, corner);
  const int32_t later = factor<T>(corner, last);
  exchangeRows<T>(beside, last);
  last.array() += static_cast<int32_t>(half);
  return zero != 0 || later == 0 ? zero : later + static_cast<int32_t>(half);
}

}  // namespace

template <class T>
Status getrf(const Call& call) {
  Arguments arguments(call, 1, 3);
  const Index m = arguments.rows(), n = arguments.cols(), k = std::min(m, n);
  arguments.operand<T>(0, {m, n});
  const Batch<T> out = arguments.result<T>(0, {m, n});
  const Batch<int32_t> pivots = arguments.result<int32_t>(1, {k});
  const Batch<int32_t> info = arguments.result<int32_t>(2, {});
  TERCEL_TRY(arguments.status());
  arguments.copy(0, 0);
  const double cost = double(m) * n * k;
  if (isBatchForLanes(*call.signature, 9.2f)) {
    const Index lead = laneLead(m);
    const lanes::Job<T> job{.a = out.data,
                            .pivots = pivots.data,
                            .info = info.data,
                            .m = m,
                            .n = n,
                            .lead = lead};
    return forEachInLanes<T>(call, arguments.batch(), cost, lead * n, job, lanes::getrf<T>);
  }
  return forEachIn(call, arguments.batch(), cost, [&](Index b) {
    info.number(b) = k == 0 ? 0 : factor<T>(out[b], pivots.vector(b));
    pivots.vector(b).array() += 1;
  });
}

#define INSTANTIATE(T) template Status getrf<T>(const Call&);
TERCEL_LINALG_TYPES(INSTANTIATE)

}  // namespace tercel::linalg
