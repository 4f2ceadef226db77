#include "pjrt/layout.h"

#include <span>

namespace tercel::pjrt {
namespace {

Status otherLayout() {
  return unimplemented("layouts other than dense row-major are not supported by Tercel");
}

Status checkTiled(const PJRT_Buffer_MemoryLayout_Tiled& tiled, const Shape& shape) {
  const size_t rank = shape.dims.size();
  if (tiled.minor_to_major_size != rank || (rank != 0 && !tiled.minor_to_major)) {
    return invalidArgument("a layout of ", tiled.minor_to_major_size, " dimensions for ",
                           toString(shape));
  }
  bool row_major = tiled.num_tiles == 0;
  auto last = static_cast<int64_t>(rank);
  for (const int64_t dim : std::span(tiled.minor_to_major, rank)) {
    if (dim < 0 || dim >= static_cast<int64_t>(rank)) {
      return invalidArgument("a layout has dimension ", dim, " for ", toString(shape));
    }
    if (shape.dims[static_cast<size_t>(dim)] <= 1) continue;  // where it stands does not matter
    row_major &= dim < last;
    last = dim;
  }
  return row_major ? Status() : otherLayout();
}

Status checkStrides(const PJRT_Buffer_MemoryLayout_Strides& strides, const Shape& shape) {
  const size_t rank = shape.dims.size();
  if (strides.num_byte_strides != rank || (rank != 0 && !strides.byte_strides)) {
    return invalidArgument(strides.num_byte_strides, " byte strides for ", toString(shape));
  }
  const Dims wanted = rowMajorStrides(shape.dims);
  const auto size = static_cast<int64_t>(byteSize(shape.dtype));
  for (size_t i = 0; i < rank; ++i) {
    if (shape.dims[i] > 1 && strides.byte_strides[i] != wanted[i] * size) {
      return otherLayout();
    }
  }
  return {};
}

}  // namespace

Dims rowMajorOrder(size_t rank) {
  Dims order(rank);
  for (size_t i = 0; i < rank; ++i) order[i] = static_cast<int64_t>(rank - 1 - i);
  return order;
}

std::string rowMajorText(size_t rank) {
  std::string text = "{";
  for (const int64_t dim : rowMajorOrder(rank)) {
    text += cat(text.size() > 1 ? "," : "", dim);
  }
  return text + "}";
}

Status checkRowMajor(const PJRT_Buffer_MemoryLayout* layout, const Shape& shape) {
  if (!layout) return {};
  switch (layout->type) {
    case PJRT_Buffer_MemoryLayout_Type_Tiled:
      return checkTiled(layout->tiled, shape);
    case PJRT_Buffer_MemoryLayout_Type_Strides:
      return checkStrides(layout->strides, shape);
  }
  return invalidArgument("there is no kind of layout number ", static_cast<int>(layout->type));
}

}  // namespace tercel::pjrt
