// LU with exchanges of rows.
#include "runtime/linalg/side_by_side.h"

#include <Eigen/LU>

namespace tercel::linalg {
namespace {

// The first pivot that is 0, from 1; 0: none.
template <class T>
int32_t factor(MatrixRef<T> a, Eigen::Ref<VectorX<int32_t>> pivots) {
  using Blocked = Eigen::internal::partial_lu_impl<T, Eigen::ColMajor, int32_t>;
  const Index k = pivots.size(), beside = a.cols() - k;
  int32_t swaps = 0;
  const Index zero =
      Blocked::blocked_lu(a.rows(), k, a.data(), a.outerStride(), pivots.data(), swaps);
  if (beside > 0) {
    MatrixRef<T> others = a.rightCols(beside);
    for (Index i = 0; i < k; ++i) others.row(i).swap(others.row(pivots[i]));
    const MatrixRef<T> square = a.leftCols(k);
    square.template triangularView<Eigen::UnitLower>().solveInPlace(others);
  }
  pivots.array() += 1;
  return static_cast<int32_t>(zero + 1);
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
  if (isBatchOfSmall(*call.signature)) {
    const lanes::Job<T> job{
        .a = out.data, .pivots = pivots.data, .info = info.data, .m = m, .n = n};
    return forEachInLanes<T>(call, arguments.batch(), cost, m * n, job, lanes::getrf<T>);
  }
  return forEachIn(call, arguments.batch(), cost, [&](Index b) {
    info.number(b) = k == 0 ? 0 : factor<T>(out[b], pivots.vector(b));
  });
}

#define INSTANTIATE(T) template Status getrf<T>(const Call&);
TERCEL_LINALG_TYPES(INSTANTIATE)

}  // namespace tercel::linalg
