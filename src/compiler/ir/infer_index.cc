#include "compiler/ir/infer_rules.h"

namespace tercel::ir {
namespace {

// The attributes in which gather and scatter, each other's transpose, agree.
struct IndexAttrs {
  size_t indices;        // the operand that holds the indices
  AttrKey window_dims;   // of the sliced array (gather's result, scatter's updates)
  AttrKey removed_dims;  // of the operand: sliced to size 1 and dropped
  AttrKey operand_batching;
  AttrKey indices_batching;
  AttrKey index_map;
};

int64_t indexDepth(const OpUse& use, const IndexAttrs& attrs) {
  const Dims& dims = use.dims(attrs.indices);
  size_t at = static_cast<size_t>(use.integer(AttrKey::index_vector_dim));
  return at < dims.size() ? dims[at] : 1;
}

Dims batchDims(const OpUse& use, const IndexAttrs& attrs) {
  Dims dims;
  const Dims& indices = use.dims(attrs.indices);
  for (size_t i = 0; i < indices.size(); ++i)
    if (static_cast<int64_t>(i) != use.integer(AttrKey::index_vector_dim))
      dims.push_back(indices[i]);
  return dims;
}

Status checkBatching(const OpUse& use, const IndexAttrs& attrs) {
  const Ints& in_operand = use.ints(attrs.operand_batching);
  const Ints& in_indices = use.ints(attrs.indices_batching);
  TERCEL_TRY(checkAxes(use, attrs.operand_batching, use.shape(0).rank(), Order::sorted));
  TERCEL_TRY(checkAxes(use, attrs.indices_batching, use.shape(attrs.indices).rank()));
  TERCEL_TRY(checkSize(use, attrs.indices_batching, in_operand.size()));
  if (contains(in_indices, use.integer(AttrKey::index_vector_dim)))
    return use.error("index_vector_dim is in ", attrName(attrs.indices_batching));
  for (size_t i = 0; i < in_operand.size(); ++i)
    if (use.dims(0)[in_operand[i]] != use.dims(attrs.indices)[in_indices[i]])
      return use.error("the batching dimensions ", in_operand[i], " and ", in_indices[i],
                       " differ in size");
  return {};
}

Status checkIndexAttrs(const OpUse& use, const IndexAttrs& attrs) {
  int64_t rank = use.shape(0).rank();
  if (!isInteger(use.shape(attrs.indices).dtype)) return use.error("the indices are not integers");
  TERCEL_TRY(checkInRange(use, AttrKey::index_vector_dim, use.shape(attrs.indices).rank() + 1));
  TERCEL_TRY(checkAxes(use, attrs.removed_dims, rank, Order::sorted));
  TERCEL_TRY(checkBatching(use, attrs));
  TERCEL_TRY(checkAxes(use, attrs.index_map, rank));
  TERCEL_TRY(checkDisjoint(use, attrs.removed_dims, attrs.operand_batching));
  TERCEL_TRY(checkDisjoint(use, attrs.index_map, attrs.operand_batching));
  if (static_cast<int64_t>(use.ints(attrs.index_map).size()) != indexDepth(use, attrs))
    return use.error(attrName(attrs.index_map), " has not one element an index");
  size_t window_rank = use.ints(attrs.window_dims).size() + use.ints(attrs.removed_dims).size() +
                       use.ints(attrs.operand_batching).size();
  if (static_cast<int64_t>(window_rank) != rank)
    return use.error(attrName(attrs.window_dims), ", ", attrName(attrs.removed_dims), " and ",
                     attrName(attrs.operand_batching), " do not make up the operand's rank");
  int64_t sliced_rank =
      static_cast<int64_t>(batchDims(use, attrs).size() + use.ints(attrs.window_dims).size());
  return checkAxes(use, attrs.window_dims, sliced_rank, Order::sorted);
}

bool isKept(const OpUse& use, const IndexAttrs& attrs, int64_t axis) {
  return !contains(use.ints(attrs.removed_dims), axis) &&
         !contains(use.ints(attrs.operand_batching), axis);
}

constexpr IndexAttrs kGather{1,
                             AttrKey::offset_dims,
                             AttrKey::collapsed_slice_dims,
                             AttrKey::operand_batching_dims,
                             AttrKey::start_indices_batching_dims,
                             AttrKey::start_index_map};

Status checkSliceSizes(const OpUse& use) {
  const Ints& sizes = use.ints(AttrKey::slice_sizes);
  TERCEL_TRY(checkSize(use, AttrKey::slice_sizes, use.dims(0).size()));
  for (size_t i = 0; i < sizes.size(); ++i) {
    int64_t limit = use.dims(0)[i];
    if (!isKept(use, kGather, static_cast<int64_t>(i)) && limit > 1) limit = 1;
    if (sizes[i] < 0 || sizes[i] > limit)
      return use.error("slice_sizes ", tercel::toString(sizes), ": element ", i, " is not in [0, ",
                       limit, "]");
  }
  return {};
}

IndexAttrs scatterAttrs(size_t inputs) {
  return {inputs,
          AttrKey::update_window_dims,
          AttrKey::inserted_window_dims,
          AttrKey::input_batching_dims,
          AttrKey::scatter_indices_batching_dims,
          AttrKey::scatter_dims_to_operand_dims};
}

Status checkScatterOperands(const OpUse& use, size_t inputs) {
  for (size_t i = 0; i < inputs; ++i) {
    size_t update = inputs + 1 + i;
    if (use.dims(i) != use.dims(0)) return use.error("the inputs' dimensions differ");
    if (use.dims(update) != use.dims(inputs + 1))
      return use.error("the updates' dimensions differ");
    if (use.shape(update).dtype != use.shape(i).dtype)
      return use.error("input ", i, " and its update differ in element type");
  }
  return {};
}

Status checkUpdateDims(const OpUse& use, const IndexAttrs& attrs) {
  const Dims& updates = use.dims(attrs.indices + 1);
  const Ints& window_dims = use.ints(attrs.window_dims);
  Dims batch = batchDims(use, attrs);
  if (updates.size() != batch.size() + window_dims.size())
    return use.error("the updates' rank is ", updates.size(), ", expected ",
                     batch.size() + window_dims.size());
  size_t next_batch = 0;
  for (size_t i = 0; i < updates.size(); ++i)
    if (!contains(window_dims, static_cast<int64_t>(i)) && updates[i] != batch[next_batch++])
      return use.error("dimension ", i, " of the updates is not that of the indices");
  size_t next_window = 0;
  for (int64_t axis = 0; axis < use.shape(0).rank(); ++axis)
    if (isKept(use, attrs, axis) && updates[window_dims[next_window++]] > use.dims(0)[axis])
      return use.error("the update's window exceeds dimension ", axis, " of the operand");
  return {};
}

}  // namespace

Result<Types> inferGather(const OpUse& use) {
  TERCEL_TRY(checkIndexAttrs(use, kGather));
  TERCEL_TRY(checkSliceSizes(use));
  Dims batch = batchDims(use, kGather), offsets, dims;
  for (int64_t axis = 0; axis < use.shape(0).rank(); ++axis)
    if (isKept(use, kGather, axis))
      offsets.push_back(use.ints(AttrKey::slice_sizes)[static_cast<size_t>(axis)]);
  size_t next_batch = 0, next_offset = 0;
  while (dims.size() < batch.size() + offsets.size()) {
    bool is_offset = contains(use.ints(AttrKey::offset_dims), static_cast<int64_t>(dims.size()));
    dims.push_back(is_offset ? offsets[next_offset++] : batch[next_batch++]);
  }
  return oneType(use.shape(0).dtype, dims);
}

Result<Types> inferScatter(const OpUse& use) {
  if (use.count() < 3 || use.count() % 2 == 0)
    return use.error("needs as many inputs as updates, and indices between them");
  size_t inputs = use.count() / 2;
  IndexAttrs attrs = scatterAttrs(inputs);
  TERCEL_TRY(checkScatterOperands(use, inputs));
  TERCEL_TRY(checkIndexAttrs(use, attrs));
  TERCEL_TRY(checkUpdateDims(use, attrs));
  Types results, scalars, region_args;
  for (size_t i = 0; i < inputs; ++i) {
    results.push_back(use.type(i));
    scalars.push_back(Type{Shape{use.shape(i).dtype, {}}});
  }
  region_args = scalars;
  region_args.insert(region_args.end(), scalars.begin(), scalars.end());
  TERCEL_TRY(checkRegionArgs(use, 0, region_args));
  TERCEL_TRY(checkRegionResults(use, 0, scalars));
  return results;
}

}  // namespace tercel::ir
