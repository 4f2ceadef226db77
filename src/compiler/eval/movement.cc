#include "compiler/eval/movement.h"

#include <algorithm>

#include "compiler/eval/index_space.h"
#include "compiler/eval/integers.h"
#include "compiler/eval/output.h"
#include "core/integers.h"

namespace tercel::eval {
namespace {

View whole(const Shape& shape) { return {0, rowMajorStrides(shape.dims)}; }

// The result is, element by element, a strided view of the operand.
Result<Literals> viewOf(const Shape& result, const Literal& operand, const View& view) {
  if (operand.isSplat() && operand.shape().elements() > 0)
    return Literals{Literal::splat(result, operand.bytes().data())};
  Output out(result);
  Input in(operand);
  copyView(result.dims, byteSize(result.dtype), in.bytes(), view, out.bytes(), whole(result));
  return Literals{out.take()};
}

// The starts of a window of `sizes` moved into the array.
Dims clampedStarts(Operands starts, const Dims& dims, const Dims& sizes) {
  Dims clamped;
  for (size_t d = 0; d < dims.size(); ++d)
    clamped.push_back(std::clamp<int64_t>(indexAt(starts[d], 0), 0, dims[d] - sizes[d]));
  return clamped;
}

// floor(a / b) and ceil(a / b) for b > 0.

}  // namespace

Result<Literals> evalConstant(Evaluation&, const Op& op, Operands) {
  return Literals{op.literal()};
}

Result<Literals> evalIota(Evaluation& evaluation, const Op& op, Operands) {
  Output out(evaluation.resultShape(op));
  const Dims& dims = out.shape().dims;
  auto d = static_cast<size_t>(op.integer(AttrKey::iota_dimension));
  int64_t stride = rowMajorStrides(dims)[d], size = dims[d], n = out.shape().elements();
  visitDType(out.shape().dtype, [&]<class T>() {
    for (int64_t i = 0; i < n; ++i) {
      int64_t value = i / stride % size;
      if constexpr (kIsComplex<T>)
        out.data<T>()[i] = T(static_cast<typename T::value_type>(value));
      else if constexpr (kIsHalf<T>)
        out.data<T>()[i] = T(static_cast<double>(value));
      else
        out.data<T>()[i] = static_cast<T>(value);
    }
  });
  return Literals{out.take()};
}

Result<Literals> evalBroadcastInDim(Evaluation& evaluation, const Op& op, Operands operands) {
  const Shape& from = operands[0].shape();
  const Shape& result = evaluation.resultShape(op);
  const Ints& dimensions = op.ints(AttrKey::broadcast_dimensions);
  Dims strides = rowMajorStrides(from.dims);
  View view{0, Dims(result.dims.size())};
  for (size_t d = 0; d < dimensions.size(); ++d)
    view.strides[static_cast<size_t>(dimensions[d])] = from.dims[d] == 1 ? 0 : strides[d];
  return viewOf(result, operands[0], view);
}

Result<Literals> evalTranspose(Evaluation& evaluation, const Op& op, Operands operands) {
  Dims strides = rowMajorStrides(operands[0].shape().dims);
  View view;
  for (int64_t d : op.ints(AttrKey::permutation))
    view.strides.push_back(strides[static_cast<size_t>(d)]);
  return viewOf(evaluation.resultShape(op), operands[0], view);
}

Result<Literals> evalReverse(Evaluation& evaluation, const Op& op, Operands operands) {
  const Shape& shape = operands[0].shape();
  View view = whole(shape);
  for (int64_t dimension : op.ints(AttrKey::dimensions)) {
    auto d = static_cast<size_t>(dimension);
    view.offset += (shape.dims[d] - 1) * view.strides[d];
    view.strides[d] = -view.strides[d];
  }
  return viewOf(evaluation.resultShape(op), operands[0], view);
}

Result<Literals> evalAffineSlice(Evaluation& evaluation, const Op& op, Operands operands) {
  const Shape& result = evaluation.resultShape(op);
  const Dims from = rowMajorStrides(operands[0].shape().dims);
  const Ints& steps = op.ints(AttrKey::steps);
  View view{position(op.ints(AttrKey::start_indices), from), Dims(result.dims.size(), 0)};
  for (size_t i = 0; i < steps.size(); ++i)
    view.strides[i % result.dims.size()] += steps[i] * from[i / result.dims.size()];
  return viewOf(result, operands[0], view);
}

Result<Literals> evalSlice(Evaluation& evaluation, const Op& op, Operands operands) {
  View view = whole(operands[0].shape());
  const Ints& start = op.ints(AttrKey::start_indices);
  const Ints& strides = op.ints(AttrKey::strides);
  for (size_t d = 0; d < start.size(); ++d) {
    view.offset += start[d] * view.strides[d];
    view.strides[d] *= strides[d];
  }
  return viewOf(evaluation.resultShape(op), operands[0], view);
}

Result<Literals> evalDynamicSlice(Evaluation& evaluation, const Op& op, Operands operands) {
  const Shape& result = evaluation.resultShape(op);
  View view = whole(operands[0].shape());
  Dims starts = clampedStarts(operands.subspan(1), operands[0].shape().dims, result.dims);
  view.offset = position(starts, view.strides);
  return viewOf(result, operands[0], view);
}

Result<Literals> evalDynamicUpdateSlice(Evaluation&, const Op&, Operands operands) {
  const Shape& shape = operands[0].shape();
  Output out(shape);
  Input in(operands[0]), update(operands[1]);
  std::copy_n(in.bytes(), shape.bytes(), out.bytes());
  View view = whole(shape);
  Dims starts = clampedStarts(operands.subspan(2), shape.dims, update.shape().dims);
  view.offset = position(starts, view.strides);
  copyView(update.shape().dims, byteSize(shape.dtype), update.bytes(), whole(update.shape()),
           out.bytes(), view);
  return Literals{out.take()};
}

Result<Literals> evalReshape(Evaluation& evaluation, const Op& op, Operands operands) {
  return Literals{operands[0].withShape(evaluation.resultShape(op))};
}

Result<Literals> evalConcatenate(Evaluation& evaluation, const Op& op, Operands operands) {
  Output out(evaluation.resultShape(op));
  auto d = static_cast<size_t>(op.integer(AttrKey::dimension));
  View view = whole(out.shape());
  for (const Literal& part : operands) {
    Input in(part);
    copyView(in.shape().dims, byteSize(in.shape().dtype), in.bytes(), whole(in.shape()),
             out.bytes(), view);
    view.offset += in.shape().dims[d] * view.strides[d];
  }
  return Literals{out.take()};
}

// Element i of a dimension goes to low + i * (1 + interior), where that lies inside the result.
Result<Literals> evalPad(Evaluation& evaluation, const Op& op, Operands operands) {
  const Shape& result = evaluation.resultShape(op);
  const Ints& low = op.ints(AttrKey::edge_padding_low);
  const Ints& interior = op.ints(AttrKey::interior_padding);
  Output out(result);
  Input in(operands[0]), padding(Literal::splat(result, operands[1].bytes().data()));
  std::copy_n(padding.bytes(), result.bytes(), out.bytes());
  View from = whole(in.shape()), to = whole(result);
  Dims count;
  for (size_t d = 0; d < low.size(); ++d) {
    int64_t step = 1 + interior[d];
    int64_t first = std::max<int64_t>(0, ceilDiv(-low[d], step));
    int64_t end = std::min(in.shape().dims[d], floorDiv(result.dims[d] - 1 - low[d], step) + 1);
    count.push_back(std::max<int64_t>(0, end - first));
    from.offset += first * from.strides[d];
    to.offset += (low[d] + first * step) * to.strides[d];
    to.strides[d] *= step;
  }
  size_t element = byteSize(result.dtype);
  copyView(count, element, in.bytes(), from, out.bytes(), to);
  return Literals{out.take()};
}

Result<Literals> evalGetDimensionSize(Evaluation&, const Op& op, Operands operands) {
  auto d = static_cast<size_t>(op.integer(AttrKey::dimension));
  return Literals{Literal::scalar(static_cast<int32_t>(operands[0].shape().dims[d]))};
}

}  // namespace tercel::eval
