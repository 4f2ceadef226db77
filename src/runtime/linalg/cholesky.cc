// Cholesky's factorisation.
#include "runtime/linalg/side_by_side.h"

#include <Eigen/Cholesky>

namespace tercel::linalg {
namespace {

// As LAPACK counts: the first column that is not positive definite, from 1; 0: none.
template <class T, int kTriangle>
int32_t cholesky(typename Batch<T>::Map a) {
  const Index failed = Eigen::internal::llt_inplace<T, kTriangle>::blocked(a);
  return static_cast<int32_t>(failed + 1);
}

template <class T>
int32_t firstNan(const typename Batch<T>::Map& a) {
  for (Index i = 0; i < a.rows(); ++i) {
    if (std::isnan(Eigen::numext::real(a(i, i)))) return static_cast<int32_t>(i + 1);
  }
  return 0;
}

}  // namespace

template <class T>
Status potrf(const Call& call) {
  Arguments arguments(call, 1, 2);
  const Index n = arguments.cols();
  arguments.operand<T>(0, {n, n});
  const Batch<T> out = arguments.result<T>(0, {n, n});
  const Batch<int32_t> info = arguments.result<int32_t>(1, {});
  const bool lower = arguments.letter("uplo", "LU") == 'L';
  TERCEL_TRY(arguments.status());
  arguments.copy(0, 0);
  const double cost = double(n) * n * n / 3;
  if (isBatchOfSmall(*call.signature)) {
    const lanes::Job<T> job{
        .a = out.data, .info = info.data, .n = n, .triangle = {.lower = lower}};
    return forEachInLanes<T>(call, arguments.batch(), cost, n * (n + 1), job, lanes::potrf<T>);
  }
  return forEachIn(call, arguments.batch(), cost, [&](Index b) {
    int32_t& failed = info.number(b) = 0;
    if (n == 0) return;
    failed = lower ? cholesky<T, Eigen::Lower>(out[b]) : cholesky<T, Eigen::Upper>(out[b]);
    if (failed == 0) failed = firstNan<T>(out[b]);
  });
}

#define INSTANTIATE(T) template Status potrf<T>(const Call&);
TERCEL_LINALG_TYPES(INSTANTIATE)

}  // namespace tercel::linalg
