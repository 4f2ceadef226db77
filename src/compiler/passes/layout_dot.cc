#include <algorithm>

#include "compiler/passes/dimensions.h"
#include "compiler/passes/layout_rules.h"

namespace tercel::passes {
using namespace ir;
namespace {

// One operand of a dot_general with its dimension lists.
struct Side {
  Value value;
  Ints batch, contracting;

  Ints freeDims(int64_t rank) const {
    Ints list;
    for (int64_t d = 0; d < rank; ++d)
      if (!contains(batch, d) && !contains(contracting, d)) list.push_back(d);
    return list;
  }
};

Side lhsOf(const Op& dot) {
  return {dot.operand(0), dot.ints(AttrKey::lhs_batching_dimensions),
          dot.ints(AttrKey::lhs_contracting_dimensions)};
}
Side rhsOf(const Op& dot) {
  return {dot.operand(1), dot.ints(AttrKey::rhs_batching_dimensions),
          dot.ints(AttrKey::rhs_contracting_dimensions)};
}

// The same product of other operands; attributes but for the dimension lists are `like`'s.
Value emitDot(Rewriter& rw, const Op& like, const Side& lhs, const Side& rhs, Dims result) {
  Attrs attrs(like.attrs);
  for (auto& [key, attr] : attrs) {
    if (key == AttrKey::lhs_batching_dimensions) attr = lhs.batch;
    if (key == AttrKey::lhs_contracting_dimensions) attr = lhs.contracting;
    if (key == AttrKey::rhs_batching_dimensions) attr = rhs.batch;
    if (key == AttrKey::rhs_contracting_dimensions) attr = rhs.contracting;
  }
  DType t = rw.shape(like.result()).dtype;
  return rw.emit(OpKind::dot_general_, {lhs.value, rhs.value}, {t, std::move(result)},
                 std::move(attrs));
}

Ints mapped(const Ints& list, const Ints& to) {
  Ints result;
  for (int64_t d : list) result.push_back(to[d]);
  return result;
}

// The operand of a transpose in its place, where the free dimensions keep their order.
bool takeUpTranspose(const Rewriter& rw, Side& side) {
  const Op* transpose = rw.def(side.value, OpKind::transpose_);
  if (!transpose) return false;
  const Ints& permutation = transpose->ints(AttrKey::permutation);
  if (!rises(mapped(side.freeDims(rw.shape(side.value).rank()), permutation))) return false;
  side = {transpose->operand(0), mapped(side.batch, permutation),
          mapped(side.contracting, permutation)};
  return true;
}

// Drops dimensions of 1; those contracted or in the batch are 1 on both sides.
Side withoutUnits(Rewriter& rw, const Side& side) {
  const Dims& dims = rw.shape(side.value).dims;
  Ints position(dims.size(), -1);
  int64_t next = 0;
  for (size_t d = 0; d < dims.size(); ++d)
    if (dims[d] != 1) position[d] = next++;
  auto rest = [&](const Ints& list) {
    Ints kept;
    for (int64_t d : list)
      if (position[d] >= 0) kept.push_back(position[d]);
    return kept;
  };
  return {rw.reshape(side.value, squeezed(dims)), rest(side.batch), rest(side.contracting)};
}

// rhs the same for the whole batch: the batch is then only more rows of lhs.
bool spreadOverBatch(const Rewriter& rw, const Side& lhs, Side& rhs) {
  const Op* broadcast = rw.def(rhs.value, OpKind::broadcast_in_dim_);
  if (!broadcast || rhs.batch.empty() || !isIdentity(lhs.batch)) return false;
  const Ints& where = broadcast->ints(AttrKey::broadcast_dimensions);
  for (int64_t d : rhs.batch)
    if (contains(where, d)) return false;
  auto at = [&](int64_t d) { return std::ranges::find(where, d) - where.begin(); };
  Ints contracting;
  int64_t free_dims = rw.shape(rhs.value).rank() - static_cast<int64_t>(rhs.batch.size());
  if (free_dims != static_cast<int64_t>(where.size())) return false;
  for (int64_t d : rhs.contracting) contracting.push_back(at(d));
  rhs = {broadcast->operand(0), {}, contracting};
  return true;
}

}  // namespace

Value layoutOfDot(Rewriter& rw, const Op& dot) {
  Side lhs = lhsOf(dot), rhs = rhsOf(dot);
  const Dims& result = rw.shape(dot.result()).dims;
  if (hasUnitDims(rw.shape(lhs.value).dims) || hasUnitDims(rw.shape(rhs.value).dims)) {
    lhs = withoutUnits(rw, lhs);
    rhs = withoutUnits(rw, rhs);
    return rw.reshape(emitDot(rw, dot, lhs, rhs, squeezed(result)), result);
  }
  bool changed = takeUpTranspose(rw, lhs);
  changed |= takeUpTranspose(rw, rhs);
  if (spreadOverBatch(rw, lhs, rhs)) {
    lhs.batch.clear();
    changed = true;
  }
  return changed ? emitDot(rw, dot, lhs, rhs, result) : Value{};
}

namespace {

// A product whose blocks of free dimensions are swapped is the swapped product.
Value transposedDot(Rewriter& rw, const Op& transpose, const Op& dot) {
  Side lhs = lhsOf(dot), rhs = rhsOf(dot);
  int64_t batch = static_cast<int64_t>(lhs.batch.size());
  int64_t lhs_free = static_cast<int64_t>(lhs.freeDims(rw.shape(lhs.value).rank()).size());
  int64_t rank = rw.shape(dot.result()).rank();
  Ints swapped = range(batch);
  for (int64_t d = batch + lhs_free; d < rank; ++d) swapped.push_back(d);
  for (int64_t d = batch; d < batch + lhs_free; ++d) swapped.push_back(d);
  if (transpose.ints(AttrKey::permutation) != swapped) return {};
  return emitDot(rw, dot, rhs, lhs, rw.shape(transpose.result()).dims);
}

constexpr AttrKey kInputDims[] = {AttrKey::input_batch_dimension, AttrKey::input_feature_dimension};
constexpr AttrKey kKernelDims[] = {AttrKey::kernel_input_feature_dimension,
                                   AttrKey::kernel_output_feature_dimension};
constexpr AttrKey kOutputDims[] = {AttrKey::output_batch_dimension,
                                   AttrKey::output_feature_dimension};

// Renames the dimensions that a convolution's attributes give: d becomes to[d].
void renameDims(Attrs& attrs, std::span<const AttrKey> keys, AttrKey spatial, const Ints& to) {
  for (auto& [key, attr] : attrs) {
    if (key == spatial) attr = mapped(std::get<Ints>(attr), to);
    if (std::ranges::find(keys, key) != keys.end()) attr = to[std::get<int64_t>(attr)];
  }
}

// An attribute left out reads as 0, which a renaming would miss.
bool namesAll(const Op& op, std::span<const AttrKey> keys) {
  return std::ranges::all_of(keys, [&](AttrKey key) { return op.has(key); });
}

Value transposedConvolution(Rewriter& rw, const Op& transpose, const Op& convolution) {
  if (!namesAll(convolution, kOutputDims)) return {};
  Attrs attrs(convolution.attrs);
  renameDims(attrs, kOutputDims, AttrKey::output_spatial_dimensions,
             inverse(transpose.ints(AttrKey::permutation)));
  return rw.emit(OpKind::convolution_, convolution.operands, rw.shape(transpose.result()),
                 std::move(attrs));
}

}  // namespace

Value layoutOfConvolution(Rewriter& rw, const Op& op) {
  const Op* input = rw.def(op.operand(0), OpKind::transpose_);
  const Op* kernel = rw.def(op.operand(1), OpKind::transpose_);
  if ((!input && !kernel) || !namesAll(op, kInputDims) || !namesAll(op, kKernelDims)) return {};
  Attrs attrs(op.attrs);
  if (input)
    renameDims(attrs, kInputDims, AttrKey::input_spatial_dimensions,
               input->ints(AttrKey::permutation));
  if (kernel)
    renameDims(attrs, kKernelDims, AttrKey::kernel_spatial_dimensions,
               kernel->ints(AttrKey::permutation));
  Value x = input ? input->operand(0) : op.operand(0);
  Value k = kernel ? kernel->operand(0) : op.operand(1);
  return rw.emit(OpKind::convolution_, {x, k}, rw.shape(op.result()), std::move(attrs));
}

Value transposedProduct(Rewriter& rw, const Op& transpose, const Uses& uses) {
  const Op* product = rw.def(transpose.operand(0));
  if (!product || uses.count(transpose.operand(0)) != 1) return {};
  if (product->kind == OpKind::dot_general_) return transposedDot(rw, transpose, *product);
  if (product->kind == OpKind::convolution_) return transposedConvolution(rw, transpose, *product);
  return {};
}

}  // namespace tercel::passes
