#include <algorithm>

#include "compiler/passes/dimensions.h"
#include "compiler/passes/layout_rules.h"

namespace tercel::passes {
using namespace ir;
namespace {

bool reduceWithoutUnits(Rewriter& rw, const Op& op) {
  size_t lanes = op.results.size();
  const Dims& dims = rw.shape(op.operand(0)).dims;
  if (!hasUnitDims(dims)) return false;
  Ints reduced;
  int64_t next = 0;
  for (int64_t d = 0; d < static_cast<int64_t>(dims.size()); ++d) {
    if (dims[d] == 1) continue;
    if (contains(op.ints(AttrKey::dimensions), d)) reduced.push_back(next);
    ++next;
  }
  Dims rest = squeezed(dims);
  if (reduced.empty()) return false;
  Values inputs;
  for (size_t i = 0; i < lanes; ++i) inputs.push_back(rw.reshape(op.operand(i), rest));
  Values results = rw.reduceLike(op, inputs, reduced);
  for (size_t i = 0; i < lanes; ++i)
    rw.replace(op.results[i], rw.reshape(results[i], rw.shape(op.results[i]).dims));
  return true;
}

// reduce(transpose(x)) -> transpose(reduce(x)): less is left to move, or nothing.
bool reduceBeforeTranspose(Rewriter& rw, const Op& op) {
  size_t lanes = op.results.size();
  const Op* first = rw.def(op.operand(0), OpKind::transpose_);
  if (!first) return false;
  Values inputs;
  for (size_t i = 0; i < lanes; ++i) {
    const Op* transpose = rw.def(op.operand(i), OpKind::transpose_);
    if (!transpose || transpose->attrs != first->attrs) return false;
    inputs.push_back(transpose->operand(0));
  }
  const Ints permutation = first->ints(AttrKey::permutation);
  Ints reduced, order;
  for (int64_t d : op.ints(AttrKey::dimensions)) reduced.push_back(permutation[d]);
  std::ranges::sort(reduced);
  // Where each kept dimension of the transposed array is among those that x keeps.
  for (int64_t d = 0; d < static_cast<int64_t>(permutation.size()); ++d) {
    if (contains(op.ints(AttrKey::dimensions), d)) continue;
    int64_t before = std::ranges::count_if(reduced, [&](int64_t r) { return r < permutation[d]; });
    order.push_back(permutation[d] - before);
  }
  Values results = rw.reduceLike(op, inputs, reduced);
  for (size_t i = 0; i < lanes; ++i) rw.replace(op.results[i], rw.transpose(results[i], order));
  return true;
}

}  // namespace

bool layoutOfReduce(Rewriter& rw, OpId id) {
  const Op& op = rw.op(id);
  return reduceWithoutUnits(rw, op) || reduceBeforeTranspose(rw, op);
}

}  // namespace tercel::passes
