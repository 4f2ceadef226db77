#include "runtime/linalg/arguments.h"
#include "runtime/linalg/schur_form.h"

namespace tercel::linalg {
namespace {

constexpr int32_t kNotFinite = -4;  // LAPACK's "argument 4 has an illegal value", which A is

template <class T>
int32_t findSchur(MatrixX<T> a, bool has_vectors, Schur<T>& schur) {
  if (!a.allFinite()) return kNotFinite;
  const VectorX<Index> order = isolate(a);
  schur = schurForm(std::move(a), has_vectors ? SchurParts::all : SchurParts::form);
  if (!schur.converged) return 1;
  if (!has_vectors) return 0;
  const MatrixX<T> u = schur.u;
  for (Index i = 0; i < order.size(); ++i) schur.u.row(order[i]) = u.row(i);
  return 0;
}

}  // namespace

template <class T>
Status gees(const Call& call) {
  constexpr size_t kValues = kIsComplex<T> ? 1 : 2;
  Arguments arguments(call, 1, 4 + kValues);
  const Index n = arguments.cols();
  const Batch<const T> in = arguments.operand<T>(0, {n, n});
  const Batch<T> t = arguments.result<T>(0, {n, n}), u = arguments.result<T>(1, {n, n});
  const Batch<T> values = arguments.result<T>(2, {n}), imag = arguments.result<T>(1 + kValues, {n});
  const Batch<int32_t> selected = arguments.result<int32_t>(2 + kValues, {});
  const Batch<int32_t> info = arguments.result<int32_t>(3 + kValues, {});
  const bool has_vectors = arguments.letter("mode", "NV") == 'V';
  arguments.letter("sort", "N");
  TERCEL_TRY(arguments.status());
  return forEachIn(call, arguments.batch(), 25.0 * n * n * n, [&](Index b) {
    selected.number(b) = info.number(b) = 0;
    if (n == 0) return;
    Schur<T> schur;
    if ((info.number(b) = findSchur<T>(in[b], has_vectors, schur)) != 0) return;
    t[b] = schur.t;
    if (has_vectors) u[b] = schur.u;
    if constexpr (kIsComplex<T>) {
      values.vector(b) = schur.values;
    } else {
      values.vector(b) = schur.values.real();
      imag.vector(b) = schur.values.imag();
    }
  });
}

#define INSTANTIATE(T) template Status gees<T>(const Call&);
TERCEL_LINALG_TYPES(INSTANTIATE)

}  // namespace tercel::linalg
