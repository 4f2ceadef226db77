// Systems of equations with a tridiagonal matrix.
#include "runtime/linalg/arguments.h"

namespace tercel::linalg {
namespace {

template <class T>
Real<T> sizeOf(T x) {
  return std::abs(Eigen::numext::real(x)) + std::abs(Eigen::numext::imag(x));
}

// Elimination with exchanges of neighbouring rows. Row i becomes d[i], du[i], dl[i + 1]: the third
// is what an exchange brings. 0: done, else the first pivot that is 0, from 1.
template <class T>
int32_t eliminate(VectorX<T>& dl, VectorX<T>& d, VectorX<T>& du, MatrixRef<T> x) {
  const Index n = d.size();
  for (Index i = 0; i + 1 < n; ++i) {
    T& below = dl[i + 1];
    if (sizeOf(d[i]) >= sizeOf(below)) {
      if (d[i] == T(0)) return static_cast<int32_t>(i + 1);
      const T ratio = below / d[i];
      d[i + 1] -= ratio * du[i];
      x.row(i + 1) -= ratio * x.row(i);
      below = T(0);
    } else {
      const T ratio = d[i] / below, next = d[i + 1];
      d[i] = below;
      d[i + 1] = du[i] - ratio * next;
      du[i] = next;
      below = T(0);
      if (i + 2 < n) {
        below = du[i + 1];
        du[i + 1] *= -ratio;
      }
      x.row(i).swap(x.row(i + 1));
      x.row(i + 1) -= ratio * x.row(i);
    }
  }
  return n > 0 && d[n - 1] == T(0) ? static_cast<int32_t>(n) : 0;
}

template <class T>
void substitute(const VectorX<T>& dl, const VectorX<T>& d, const VectorX<T>& du, MatrixRef<T> x) {
  const Index n = d.size();
  for (Index i = n; i-- > 0;) {
    if (i + 1 < n) x.row(i) -= du[i] * x.row(i + 1);
    if (i + 2 < n) x.row(i) -= dl[i + 1] * x.row(i + 2);
    x.row(i) /= d[i];
  }
}

}  // namespace

template <class T>
Status gtsv(const Call& call) {
  Arguments arguments(call, 4, 5, 3);
  const Index n = arguments.rows(), k = arguments.cols();
  for (size_t i = 0; i < 3; ++i) arguments.operand<T>(i, {n});
  arguments.operand<T>(3, {n, k});
  const Batch<T> below = arguments.result<T>(0, {n}), diagonal = arguments.result<T>(1, {n}),
                 above = arguments.result<T>(2, {n}), out = arguments.result<T>(3, {n, k});
  const Batch<int32_t> info = arguments.result<int32_t>(4, {});
  TERCEL_TRY(arguments.status());
  for (size_t i = 0; i < 4; ++i) arguments.copy(i, i);
  return forEachIn(call, arguments.batch(), 8.0 * n * k, [&](Index b) {
    VectorX<T> dl = below.vector(b), d = diagonal.vector(b), du = above.vector(b);
    info.number(b) = eliminate<T>(dl, d, du, out[b]);
    if (info.number(b) == 0) substitute<T>(dl, d, du, out[b]);
    below.vector(b) = dl;
    diagonal.vector(b) = d;
    above.vector(b) = du;
  });
}

#define INSTANTIATE(T) template Status gtsv<T>(const Call&);
TERCEL_LINALG_TYPES(INSTANTIATE)

}  // namespace tercel::linalg
