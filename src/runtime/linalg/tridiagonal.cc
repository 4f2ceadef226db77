// Systems of equations with a tridiagonal matrix.
#include <cmath>
#include <limits>

#include "runtime/linalg/side_by_side.h"

namespace tercel::linalg {
namespace {

// Elimination with exchanges of neighbouring rows. Row i becomes d[i], du[i], dl[i + 1]: the third
// is what an exchange brings. 0: done, else the first pivot that is 0, from 1.
template <class T>
int32_t eliminate(VectorX<T>& dl, VectorX<T>& d, VectorX<T>& du, MatrixRef<T> x) {
  const Index n = d.size();
  Index singular = 0;
  auto subtract = [&](T ratio, Index i) {  // row i from the next
    for (Index c = 0; c < x.cols(); ++c) x(i + 1, c) -= ratio * x(i, c);
  };
  T pivot = n > 0 ? d[0] : T(1);
  for (Index i = 0; i + 1 < n; ++i) {
    const T below = dl[i + 1];
    T next = d[i + 1];
    dl[i + 1] = T(0);
    if (!(sizeOf(pivot) >= sizeOf(below))) {
      const T ratio = pivot / below;
      d[i] = below;
      pivot = du[i] - ratio * next;
      du[i] = next;
      if (i + 2 < n) {
        dl[i + 1] = du[i + 1];
        du[i + 1] *= -ratio;
      }
      x.row(i).swap(x.row(i + 1));
      subtract(ratio, i);
    } else if (pivot != T(0)) {
      const T ratio = below / pivot;
      pivot = next - ratio * du[i];
      subtract(ratio, i);
    } else {
      if (singular == 0) singular = i + 1;
      pivot = next;
    }
    d[i + 1] = pivot;
  }
  if (singular == 0 && pivot == T(0)) singular = n;
  return static_cast<int32_t>(singular);
}

// Where a pivot is no more than rounding errors, it becomes as large as they are.
template <class T>
void perturb(const VectorX<T>& dl, VectorX<T>& d, const VectorX<T>& du) {
  const Index n = d.size();
  Real<T> largest = 0;
  for (Index i = 0; i < n; ++i) {
    largest = std::max(largest, sizeOf(d[i]));
    if (i + 1 < n) largest = std::max(largest, sizeOf(du[i]));
    if (i + 2 < n) largest = std::max(largest, sizeOf(dl[i + 1]));
  }
  const Real<T> least = std::numeric_limits<Real<T>>::epsilon() * (largest > 0 ? largest : 1);
  for (T& pivot : d)
    if (sizeOf(pivot) < least) pivot = T(std::copysign(least, Eigen::numext::real(pivot)));
}

template <class T>
void substitute(const VectorX<T>& dl, const VectorX<T>& d, const VectorX<T>& du, MatrixRef<T> x) {
  const Index n = d.size();
  for (Index c = 0; c < x.cols(); ++c) {
    T* column = x.col(c).data();
    T next = T(0), second = T(0);
    for (Index i = n; i-- > 0;) {
      T value = column[i];
      if (i + 2 < n) value -= dl[i + 1] * second;
      if (i + 1 < n) value -= du[i] * next;
      second = next;
      column[i] = next = value / d[i];
    }
  }
}

template <class T>
Status solvePerturbedIn(const Call& call) {
  Arguments arguments(call, 4, 1, 3);
  const Index n = arguments.rows(), k = arguments.cols();
  const Batch<const T> below = arguments.operand<T>(0, {n}), diagonal = arguments.operand<T>(1, {n}),
                       above = arguments.operand<T>(2, {n});
  arguments.operand<T>(3, {n, k});
  const Batch<T> out = arguments.result<T>(0, {n, k});
  TERCEL_TRY(arguments.status());
  arguments.copy(3, 0);
  const Index batch = arguments.batch(), numbers = n * (3 + k);
  const double cost = 8.0 * n * k;
  if (suitsLanes(batch, numbers)) {
    const lanes::Job<T> job{
        .a = out.data, .diagonals = {below.data, diagonal.data, above.data}, .n = n, .k = k};
    return forEachInLanes<T>(call, batch, cost, numbers, job, lanes::gtsv<T>);
  }
  return forEachIn(call, batch, cost, [&](Index b) {
    VectorX<T> dl = below.vector(b), d = diagonal.vector(b), du = above.vector(b);
    eliminate<T>(dl, d, du, out[b]);
    perturb<T>(dl, d, du);
    substitute<T>(dl, d, du, out[b]);
  });
}

}  // namespace

Status solvePerturbed(const Call& call) {
  const auto& operands = call.signature->operands;
  switch (operands.empty() ? DType::f32 : operands.front().shape.dtype) {
    case DType::f64: return solvePerturbedIn<double>(call);
    case DType::c64: return solvePerturbedIn<std::complex<float>>(call);
    case DType::c128: return solvePerturbedIn<std::complex<double>>(call);
    default: return solvePerturbedIn<float>(call);
  }
}

template <class T>
Status gtsv(const Call& call) {
  Arguments arguments(call, 4, 5, 3);
  const Index n = arguments.rows(), k = arguments.cols();
  const Batch<const T> given[] = {arguments.operand<T>(0, {n}), arguments.operand<T>(1, {n}),
                                  arguments.operand<T>(2, {n})};
  arguments.operand<T>(3, {n, k});
  const Batch<T> below = arguments.result<T>(0, {n}), diagonal = arguments.result<T>(1, {n}),
                 above = arguments.result<T>(2, {n}), out = arguments.result<T>(3, {n, k});
  const Batch<int32_t> info = arguments.result<int32_t>(4, {});
  TERCEL_TRY(arguments.status());
  arguments.copy(3, 3);
  const Index batch = arguments.batch(), numbers = n * (3 + k);
  const double cost = 8.0 * n * k;
  if (suitsLanes(batch, numbers)) {
    const lanes::Job<T> job{.a = out.data,
                            .info = info.data,
                            .diagonals = {given[0].data, given[1].data, given[2].data},
                            .factors = {below.data, diagonal.data, above.data},
                            .n = n,
                            .k = k};
    return forEachInLanes<T>(call, batch, cost, numbers, job, lanes::gtsv<T>);
  }
  return forEachIn(call, batch, cost, [&](Index b) {
    VectorX<T> dl = given[0].vector(b), d = given[1].vector(b), du = given[2].vector(b);
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
