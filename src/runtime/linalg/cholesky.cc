// Cholesky's factorisation.
#include "runtime/linalg/dense_steps.h"
#include "runtime/linalg/products.h"
#include "runtime/linalg/side_by_side.h"

namespace tercel::linalg {
namespace {

// a = l l^H in a's lower triangle. As LAPACK counts: the first column that is not positive
// definite, from 1; 0: none.
template <class T>
int32_t factor(MatrixRef<T> a) {
  const Index n = a.rows();
  if (n <= dense::kTriangle) {
    int32_t failed = 0;
    dense::takeRoot<T>({n, a.data(), a.outerStride(), &failed});
    return failed;
  }
  const Index half = firstHalf(n), rest = n - half;
  MatrixRef<T> first = a.topLeftCorner(half, half), last = a.bottomRightCorner(rest, rest);
  MatrixRef<T> below = a.bottomLeftCorner(rest, half);
  if (const int32_t failed = factor<T>(first)) return failed;
  // below = below first^-H: conj(first) below^T = below^T
  Operand<T> triangle = operand<T>(first);
  triangle.conjugate = true;
  solveTriangle<T>(triangle, true, false, stridedOf<T>(below).transposed(), rest);
  addProduct<T>(operand<T>(below), operand<T>(below).adjoint(), -1, last, Part::lower);
  const int32_t failed = factor<T>(last);
  return failed ? failed + static_cast<int32_t>(half) : 0;
}

// The upper triangle is a lower one of the conjugate.
template <class T>
int32_t factorUpper(MatrixRef<T> a) {
  MatrixX<T> turned = a.transpose();
  const int32_t failed = factor<T>(turned);
  a.template triangularView<Eigen::Upper>() = turned.transpose();
  return failed;
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
  if (isBatchForLanes(*call.signature, 6.9f)) {
    const Index lead = laneLead(n);
    const lanes::Job<T> job{
        .a = out.data, .info = info.data, .n = n, .lead = lead, .triangle = {.lower = lower}};
    return forEachInLanes<T>(call, arguments.batch(), cost, lead * n + n, job, lanes::potrf<T>);
  }
  return forEachIn(call, arguments.batch(), cost, [&](Index b) {
    info.number(b) = lower ? factor<T>(out[b]) : factorUpper<T>(out[b]);
  });
}

#define INSTANTIATE(T) template Status potrf<T>(const Call&);
TERCEL_LINALG_TYPES(INSTANTIATE)

}  // namespace tercel::linalg
