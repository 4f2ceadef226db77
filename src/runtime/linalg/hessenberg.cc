#include "runtime/linalg/arguments.h"
#include "runtime/linalg/schur_form.h"

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
  return forEachIn(call, arguments.batch(), 10.0 / 3 * n * n * n, [&](Index b) {
    hessenberg<T>(out[b], low, high, taus.vector(b));
    info.number(b) = 0;
  });
}

#define INSTANTIATE(T) template Status gehrd<T>(const Call&);
TERCEL_LINALG_TYPES(INSTANTIATE)

}  // namespace tercel::linalg
