#include <algorithm>

#include "compiler/eval/contraction.h"

namespace tercel::eval {
namespace {

// Dimensions of an operand in the order batch, free, contracting.
Dims canonicalOrder(const Shape& shape, const Ints& batch, const Ints& contracting) {
  auto named = [](const Ints& list, int64_t d) { return std::ranges::find(list, d) != list.end(); };
  Dims order(batch.begin(), batch.end());
  for (int64_t d = 0; d < shape.rank(); ++d)
    if (!named(batch, d) && !named(contracting, d)) order.push_back(d);
  for (int64_t d : contracting) order.push_back(d);
  return order;
}

int64_t product(const Shape& shape, const Ints& dimensions) {
  int64_t n = 1;
  for (int64_t d : dimensions) n *= shape.dims[static_cast<size_t>(d)];
  return n;
}

struct Sizes {
  int64_t batch, rows, columns, depth;
};

// result[b][i][j] = sum over k of lhs[b][i][k] * rhs[b][j][k]
template <class S, class T>
void multiply(const Sizes& n, const std::vector<S>& lhs, const std::vector<S>& rhs, T* result) {
  for (int64_t b = 0; b < n.batch; ++b)
    for (int64_t i = 0; i < n.rows; ++i)
      for (int64_t j = 0; j < n.columns; ++j) {
        const S* x = lhs.data() + (b * n.rows + i) * n.depth;
        const S* y = rhs.data() + (b * n.columns + j) * n.depth;
        S sum{};
        for (int64_t k = 0; k < n.depth; ++k) sum += eval::product(x[k], y[k]);
        *result++ = rounded<T>(sum);
      }
}

}  // namespace

Result<Literals> evalDotGeneral(Evaluation& evaluation, const Op& op, Operands operands) {
  const Shape &lhs = operands[0].shape(), &rhs = operands[1].shape();
  const Ints& lhs_batch = op.ints(AttrKey::lhs_batching_dimensions);
  const Ints& rhs_batch = op.ints(AttrKey::rhs_batching_dimensions);
  const Ints& lhs_contracting = op.ints(AttrKey::lhs_contracting_dimensions);
  const Ints& rhs_contracting = op.ints(AttrKey::rhs_contracting_dimensions);
  Output out(evaluation.resultShape(op));
  if (out.shape().elements() == 0) return Literals{out.take()};
  int64_t batch = product(lhs, lhs_batch), depth = product(lhs, lhs_contracting);
  TERCEL_TRY(evaluation.charge(out.shape().elements() * depth));
  int64_t rows = depth == 0 ? 1 : lhs.elements() / (batch * depth);
  int64_t columns = out.shape().elements() / (batch * rows);
  Sizes sizes{batch, rows, columns, depth};
  visitDType(out.shape().dtype, [&]<class T>() {
    auto x = summands<Sum<T>>(operands[0], canonicalOrder(lhs, lhs_batch, lhs_contracting));
    auto y = summands<Sum<T>>(operands[1], canonicalOrder(rhs, rhs_batch, rhs_contracting));
    multiply(sizes, x, y, out.data<T>());
  });
  return Literals{out.take()};
}

}  // namespace tercel::eval
