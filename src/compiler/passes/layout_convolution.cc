// A convolution names the meaning of every dimension, so any order of them does. Dimensions of 1
// are moved by reshapes, not by transposes, and are put wherever it suits.
#include <algorithm>

#include "compiler/passes/dimensions.h"
#include "compiler/passes/layout_rules.h"

namespace tercel::passes {
using namespace ir;

void renameDims(Op& convolution, const ConvolutionDims& dims, const Ints& to) {
  for (AttrKey key : {dims.batch_or_input, dims.feature_or_output})
    convolution.set(key, to[convolution.integer(key)]);
  Ints spatial;
  for (int64_t d : convolution.ints(dims.spatial)) spatial.push_back(to[d]);
  convolution.set(dims.spatial, spatial);
}

namespace {

// The dimensions of 1 first, then the others as they come.
Ints unitsFirst(const Dims& dims) {
  Ints order;
  for (int64_t d = 0; d < static_cast<int64_t>(dims.size()); ++d)
    if (dims[d] == 1) order.push_back(d);
  for (int64_t d = 0; d < static_cast<int64_t>(dims.size()); ++d)
    if (dims[d] != 1) order.push_back(d);
  return order;
}

// v is transpose(x), but for dimensions of 1: x with those in front, and the renaming.
struct Source {
  Value value;
  Ints to;
};
Source beforeTranspose(Rewriter& rw, Value v) {
  Value inner = v;
  const Dims& dims = rw.shape(v).dims;
  if (const Op* reshape = rw.def(v, OpKind::reshape_); reshape && hasUnitDims(dims))
    inner = reshape->operand(0);
  const Op* transpose = rw.def(inner, OpKind::transpose_);
  if (!transpose || rw.shape(inner).dims != squeezed(dims)) return {};
  Ints order = unitsFirst(dims);
  Value x = transpose->operand(0);
  Dims source_dims = rw.shape(x).dims;
  size_t units = dims.size() - source_dims.size();
  for (size_t i = 0; i < units; ++i) source_dims.insert(0, 1);
  Ints to(dims.size());
  for (size_t i = 0; i < units; ++i) to[order[i]] = static_cast<int64_t>(i);
  const Ints& permutation = transpose->ints(AttrKey::permutation);
  for (size_t i = units; i < order.size(); ++i)
    to[order[i]] = permutation[i - units] + static_cast<int64_t>(units);
  return {rw.reshape(x, source_dims), to};
}

Op copyOf(const Op& op) {
  Op copy;
  copy.kind = op.kind;
  copy.attrs = op.attrs;
  copy.operands = op.operands;
  return copy;
}

}  // namespace

Value layoutOfConvolution(Rewriter& rw, const Op& op) {
  Source input = beforeTranspose(rw, op.operand(0));
  Source kernel = beforeTranspose(rw, op.operand(1));
  if (!input.value.valid() && !kernel.value.valid()) return {};
  Op fresh = copyOf(op);
  if (input.value.valid()) {
    renameDims(fresh, kInput, input.to);
    fresh.operands[0] = input.value;
  }
  if (kernel.value.valid()) {
    renameDims(fresh, kKernel, kernel.to);
    fresh.operands[1] = kernel.value;
  }
  return rw.emit(OpKind::convolution_, fresh.operands, rw.shape(op.result()), fresh.attrs);
}

Value transposedConvolution(Rewriter& rw, const Op& transpose) {
  Value v = transpose.operand(0);
  const Op* reshape = rw.def(v, OpKind::reshape_);
  Value product = reshape ? reshape->operand(0) : v;
  const Op* convolution = rw.def(product, OpKind::convolution_);
  if (!convolution || rw.otherUses(v) != 0 || rw.otherUses(product) != (reshape ? 1 : 0)) return {};
  const Dims& dims = rw.shape(product).dims;
  if (squeezed(dims) != rw.shape(v).dims) return {};
  Ints order = unitsFirst(dims);
  size_t units = dims.size() - rw.shape(v).dims.size();
  Ints to(dims.size());
  Dims result(units, 1);
  for (size_t i = 0; i < units; ++i) to[order[i]] = static_cast<int64_t>(i);
  const Ints& permutation = transpose.ints(AttrKey::permutation);
  for (size_t i = 0; i < permutation.size(); ++i) {
    int64_t from = order[units + static_cast<size_t>(permutation[i])];
    to[from] = static_cast<int64_t>(units + i);
    result.push_back(dims[from]);
  }
  Op fresh = copyOf(*convolution);
  renameDims(fresh, kOutput, to);
  Value moved =
      rw.emit(OpKind::convolution_, fresh.operands, {rw.shape(product).dtype, result}, fresh.attrs);
  return rw.reshape(moved, rw.shape(transpose.result()).dims);
}

}  // namespace tercel::passes
