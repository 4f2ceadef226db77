#include "compiler/eval/indexing.h"

#include "compiler/eval/element_arrays.h"
#include "compiler/eval/index_space.h"
#include "compiler/eval/integers.h"
#include "core/integers.h"

namespace tercel::eval {
namespace {

// gather and scatter are one addressing scheme under two sets of names: an index into the batch
// (the dimensions of the windowed array outside `window_dims`) picks an index vector, which says
// where in the operand the window starts.
struct Addressing {
  const Ints& window_dims;          // of the gathered result or the updates
  const Ints& collapsed_dims;       // of the operand, not in the window
  const Ints& batching_dims;        // of the operand, indexed as the batch is
  const Ints& index_batching_dims;  // the same dimensions among those of the indices
  const Ints& index_map;            // the operand's dimension that each number of a vector indexes
  int64_t index_vector_dim;
};

Addressing gatherAddressing(const Op& op) {
  return {op.ints(AttrKey::offset_dims),           op.ints(AttrKey::collapsed_slice_dims),
          op.ints(AttrKey::operand_batching_dims), op.ints(AttrKey::start_indices_batching_dims),
          op.ints(AttrKey::start_index_map),       op.integer(AttrKey::index_vector_dim)};
}

Addressing scatterAddressing(const Op& op) {
  return {op.ints(AttrKey::update_window_dims),
          op.ints(AttrKey::inserted_window_dims),
          op.ints(AttrKey::input_batching_dims),
          op.ints(AttrKey::scatter_indices_batching_dims),
          op.ints(AttrKey::scatter_dims_to_operand_dims),
          op.integer(AttrKey::index_vector_dim)};
}

class Addresses {
 public:
  Addresses(const Addressing& by, const Literal& indices, const Shape& operand)
      : by_(by), indices_(indices), operand_(operand) {
    index_strides_ = rowMajorStrides(indices.shape().dims);
    for (int64_t d = 0; d < operand.rank(); ++d)
      if (!contains(by.collapsed_dims, d) && !contains(by.batching_dims, d))
        window_to_operand_.push_back(d);
  }

  // Where the window of the element at `index` (of the windowed array) starts in the operand.
  Dims start(const Dims& index) const {
    Dims batch;
    for (size_t d = 0; d < index.size(); ++d)
      if (!contains(by_.window_dims, static_cast<int64_t>(d))) batch.push_back(index[d]);
    if (by_.index_vector_dim < indices_.shape().rank())
      batch.insert(static_cast<size_t>(by_.index_vector_dim), 0);
    Dims start(operand_.dims.size());
    for (size_t k = 0; k < by_.index_map.size(); ++k) {
      if (by_.index_vector_dim < indices_.shape().rank())
        batch[static_cast<size_t>(by_.index_vector_dim)] = static_cast<int64_t>(k);
      int64_t at = position(batch, index_strides_);
      start[static_cast<size_t>(by_.index_map[k])] = indexAt(indices_, at);
    }
    for (size_t k = 0; k < by_.batching_dims.size(); ++k)
      start[static_cast<size_t>(by_.batching_dims[k])] =
          batch[static_cast<size_t>(by_.index_batching_dims[k])];
    return start;
  }

  // The offset of that element within the window, in the operand's dimensions.
  Dims offset(const Dims& index) const {
    Dims offset(operand_.dims.size());
    for (size_t k = 0; k < window_to_operand_.size(); ++k)
      offset[static_cast<size_t>(window_to_operand_[k])] =
          index[static_cast<size_t>(by_.window_dims[k])];
    return offset;
  }

  // The window's extent in the operand's dimensions: 1 where the windowed array lacks one.
  Dims extent(const Shape& windowed) const {
    Dims extent(operand_.dims.size(), 1);
    for (size_t k = 0; k < window_to_operand_.size(); ++k)
      extent[static_cast<size_t>(window_to_operand_[k])] =
          windowed.dims[static_cast<size_t>(by_.window_dims[k])];
    return extent;
  }

 private:
  Addressing by_;
  const Literal& indices_;
  const Shape& operand_;
  Dims index_strides_, window_to_operand_;
};

bool isInside(const Dims& start, const Dims& extent, const Dims& dims) {
  for (size_t d = 0; d < dims.size(); ++d)
    if (start[d] < 0 || start[d] > dims[d] - extent[d]) return false;
  return true;
}

Dims sum(const Dims& a, const Dims& b) {
  Dims total = a;
  for (size_t d = 0; d < a.size(); ++d) total[d] += b[d];
  return total;
}

}  // namespace

// Starts are moved until the slice lies inside the operand.
Result<Literals> evalGather(Evaluation& evaluation, const Op& op, Operands operands) {
  const Shape& operand = operands[0].shape();
  Addresses addresses(gatherAddressing(op), operands[1], operand);
  const Ints& sizes = op.ints(AttrKey::slice_sizes);
  Dims strides = rowMajorStrides(operand.dims);
  Output out(evaluation.resultShape(op));
  Input in(operands[0]);
  size_t element = byteSize(operand.dtype);
  std::byte* to = out.bytes();
  forEachIndex(out.shape().dims, [&](const Dims& index) {
    Dims start = addresses.start(index);
    for (size_t d = 0; d < start.size(); ++d)
      start[d] = std::clamp<int64_t>(start[d], 0, operand.dims[d] - sizes[d]);
    int64_t from = position(sum(start, addresses.offset(index)), strides);
    std::memcpy(to, in.bytes() + from * static_cast<int64_t>(element), element);
    to += element;
  });
  return Literals{out.take()};
}

// A window that does not lie wholly inside the operand is skipped wholly, as XLA does.
Result<Literals> evalScatter(Evaluation& evaluation, const Op& op, Operands operands) {
  size_t count = operands.size() / 2;
  const Shape& operand = operands[0].shape();
  const Shape& updates = operands[count + 1].shape();
  Addresses addresses(scatterAddressing(op), operands[count], operand);
  ScalarFunction update(evaluation, op.regions[0], Rounding::each_op);
  TERCEL_TRY(evaluation.charge(updates.elements() * update.cost()));
  OutputArrays result;
  for (size_t i = 0; i < count; ++i) result.add(operands[i], update.resultType(i), operand.dims);
  InputArrays input(operands.subspan(count + 1), update, count);
  Dims strides = rowMajorStrides(operand.dims), extent = addresses.extent(updates);
  std::vector<const void*> args(2 * count);
  std::vector<void*> results(count);
  int64_t from = 0;
  Status status;
  forEachIndex(updates.dims, [&](const Dims& index) {
    int64_t element = from++;
    Dims start = addresses.start(index);
    if (!status.ok() || !isInside(start, extent, operand.dims)) return;
    int64_t to = position(sum(start, addresses.offset(index)), strides);
    result.point(to, args.data());
    result.point(to, results.data());
    input.point(element, args.data() + count);
    status = update.apply(args, results);
  });
  TERCEL_TRY(status);
  return result.take(evaluation, op);
}

}  // namespace tercel::eval
