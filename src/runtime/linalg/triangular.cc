// Systems of equations with a triangular matrix.
#include "runtime/linalg/products.h"
#include "runtime/linalg/side_by_side.h"

namespace tercel::linalg {
namespace {

// x = op(a)^-1 x
template <class T>
void solveVector(const Eigen::Ref<const MatrixX<T>>& a, const Triangle& how, VectorX<T>& x) {
  if (how.conjugate) x = x.conjugate().eval();  // conj(a) x = b where a conj(x) = conj(b)
  const auto turned = a.transpose();
  switch (4 * how.lower + 2 * how.transposed + how.unit) {
    case 0: a.template triangularView<Eigen::Upper>().solveInPlace(x); break;
    case 1: a.template triangularView<Eigen::UnitUpper>().solveInPlace(x); break;
    case 2: turned.template triangularView<Eigen::Lower>().solveInPlace(x); break;
    case 3: turned.template triangularView<Eigen::UnitLower>().solveInPlace(x); break;
    case 4: a.template triangularView<Eigen::Lower>().solveInPlace(x); break;
    case 5: a.template triangularView<Eigen::UnitLower>().solveInPlace(x); break;
    case 6: turned.template triangularView<Eigen::Upper>().solveInPlace(x); break;
    case 7: turned.template triangularView<Eigen::UnitUpper>().solveInPlace(x); break;
  }
  if (how.conjugate) x = x.conjugate().eval();
}

constexpr Index kFewSides = 3;  // that are solved one by one

// op(a) x = b, or its transpose where a is on the right side.
template <class T>
void solve(const Eigen::Ref<const MatrixX<T>>& a, const Triangle& how, MatrixRef<T> x) {
  dense::Strided<T> sides = stridedOf<T>(x);
  if (!how.left) sides = sides.transposed();
  const Index columns = how.left ? x.cols() : x.rows();
  if (columns <= kFewSides) {
    VectorX<T> side(a.rows());
    for (Index j = 0; j < columns; ++j) {
      for (Index i = 0; i < side.size(); ++i) side[i] = sides(i, j);
      solveVector<T>(a, how, side);
      for (Index i = 0; i < side.size(); ++i) sides(i, j) = side[i];
    }
    return;
  }
  Operand<T> triangle = operand<T>(a);
  if (how.transposed) triangle = triangle.transposed();
  triangle.conjugate = how.conjugate;
  solveTriangle<T>(triangle, how.lower != how.transposed, how.unit, sides, columns);
}

}  // namespace

template <class T>
Status trsm(const Call& call) {
  Arguments arguments(call, 2, 1, 1);
  const Index m = arguments.rows(), k = arguments.cols();
  const bool left = arguments.letter("side", "LR") == 'L';
  const Index n = left ? m : k;
  const Batch<const T> a = arguments.operand<T>(0, {n, n});
  arguments.operand<T>(1, {m, k});
  const Batch<T> out = arguments.result<T>(0, {m, k});
  Triangle how{.left = left};
  how.lower = arguments.letter("uplo", "LU") == 'L';
  how.unit = arguments.letter("diag", "NU") == 'U';
  const char op = arguments.letter("trans_x", "NTC");
  how.conjugate = kIsComplex<T> && op == 'C';
  // x op(a) = b is op(a)^T x^T = b^T.
  how.transposed = (op != 'N') == left;
  TERCEL_TRY(arguments.status());
  arguments.copy(1, 0);
  const double cost = double(n) * m * k;
  if (isBatchForLanes(*call.signature, 4.25f)) {
    const Index lead = laneLead(m), given_lead = laneLead(n);
    const lanes::Job<T> job{.a = out.data,
                            .given = a.data,
                            .m = m,
                            .k = k,
                            .lead = lead,
                            .given_lead = given_lead,
                            .triangle = how};
    return forEachInLanes<T>(call, arguments.batch(), cost, given_lead * n + lead * k, job,
                             lanes::trsm<T>);
  }
  return forEachIn(call, arguments.batch(), cost, [&](Index b) {
    if (m > 0 && k > 0) solve<T>(a[b], how, out[b]);
  });
}

#define INSTANTIATE(T) template Status trsm<T>(const Call&);
TERCEL_LINALG_TYPES(INSTANTIATE)

}  // namespace tercel::linalg
