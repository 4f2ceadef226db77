#include "pjrt/layout.h"

#include <algorithm>
#include <array>

namespace tercel::pjrt {
namespace {

Result<Dims> unwrapTiled(const PJRT_Buffer_MemoryLayout_Tiled& tiled, const Shape& shape) {
  const size_t rank = shape.dims.size();
  if (tiled.minor_to_major_size != rank || (rank != 0 && !tiled.minor_to_major)) {
    return invalidArgument("a layout of ", tiled.minor_to_major_size, " dimensions for ",
                           toString(shape));
  }
  if (tiled.num_tiles != 0) {
    return unimplemented("layouts with tiles are not supported by Tercel: ", tiled.num_tiles,
                         " of them for ", toString(shape));
  }
  const std::span order(tiled.minor_to_major, rank);
  if (!isLayout(order, rank)) {
    return invalidArgument("a layout has ", toString(order), " for the dimensions of ",
                           toString(shape));
  }
  return isRowMajor(order) ? Dims() : Dims(order);
}

// Short strides first. Those of what has one place or none say nothing.
Result<Dims> unwrapStrides(const PJRT_Buffer_MemoryLayout_Strides& strides, const Shape& shape) {
  const size_t rank = shape.dims.size();
  if (strides.num_byte_strides != rank || (rank != 0 && !strides.byte_strides)) {
    return invalidArgument(strides.num_byte_strides, " byte strides for ", toString(shape));
  }
  if (shape.elements() == 0) return Dims();
  Dims layout = rowMajorLayout(rank);
  auto stride = [&](int64_t dim) { return strides.byte_strides[dim]; };
  std::ranges::stable_sort(layout, {}, stride);
  auto next = static_cast<int64_t>(byteSize(shape.dtype));
  for (const int64_t dim : layout) {
    const int64_t length = shape.dims[static_cast<size_t>(dim)];
    if (length > 1 && stride(dim) != next) {
      return unimplemented("layouts that are not dense are not supported by Tercel: strides of ",
                           toString(std::span(strides.byte_strides, rank)), " bytes for ",
                           toString(shape));
    }
    next *= length;
  }
  return sameInMemory(shape.dims, layout, {}) ? Dims() : layout;
}

}  // namespace

Result<Dims> unwrap(const PJRT_Buffer_MemoryLayout* layout, const Shape& shape) {
  if (!layout) return Dims();
  switch (layout->type) {
    case PJRT_Buffer_MemoryLayout_Type_Tiled:
      return unwrapTiled(layout->tiled, shape);
    case PJRT_Buffer_MemoryLayout_Type_Strides:
      return unwrapStrides(layout->strides, shape);
  }
  return invalidArgument("there is no kind of layout number ", static_cast<int>(layout->type));
}

const int64_t* orderOf(const Dims& layout, size_t rank) {
  static constexpr size_t kRanks = 64;
  static const auto descending = [] {
    std::array<int64_t, kRanks> list;
    for (size_t i = 0; i < kRanks; ++i) list[i] = static_cast<int64_t>(kRanks - 1 - i);
    return list;
  }();
  if (!layout.empty()) return layout.data();
  return rank <= kRanks ? descending.data() + (kRanks - rank) : nullptr;
}

}  // namespace tercel::pjrt
