#include "runtime/linalg/arguments.h"
#include "runtime/linalg/schur_form.h"
#include "runtime/linalg/side_by_side.h"

namespace tercel::linalg {

template <class T>
Status gehrd(const Call& call) {
  Arguments arguments(call, 1, 3);
  const Index n = arguments.cols();
  arguments.operand<T>(0, {n, n});
  const Batch<T> out = arguments.result<T>(0, {n, n});
  const Batch<T> taus = arguments.result<T>(1, {std::max<Index>(n - 1, 0)});
  const Batch<int32_t> info = arguments.result<int32_t>(2, {});
  // LAPACK counts from 1.
  const Index low = arguments.number("low") - 1, high = arguments.number("high");
  arguments.require(low >= 0 && high <= n && (n == 0 || low < high), "another low or high");
  TERCEL_TRY(arguments.status());
  arguments.copy(0, 0);
  std::fill_n(info.data, arguments.batch(), 0);
  const double cost = 10.0 / 3 * n * n * n;
  if (isBatchOfSmall(*call.signature)) {
    const lanes::Job<T> job{.a = out.data, .taus = taus.data, .n = n, .low = low, .high = high};
    return forEachInLanes<T>(call, arguments.batch(), cost, n * (n + 2), job, lanes::gehrd<T>);
  }
  return forEachIn(call, arguments.batch(), cost,
                   [&](Index b) { hessenberg<T>(out[b], low, high, taus.vector(b)); });
}

#define INSTANTIATE(T) template Status gehrd<T>(const Call&);
TERCEL_LINALG_TYPES(INSTANTIATE)

}  // namespace tercel::linalg
