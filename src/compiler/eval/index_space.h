// Walking over multi-dimensional indices, and copies between strided views.
#pragma once
#include <span>
#include <utility>

#include "core/shape.h"

namespace tercel::eval {

// Calls f(const Dims& index) for each index below dims, the last dimension fastest.
template <class F>
void forEachIndex(std::span<const int64_t> dims, F&& f) {
  for (int64_t d : dims)
    if (d <= 0) return;
  Dims index(dims.size());
  while (true) {
    f(std::as_const(index));
    size_t d = dims.size();
    while (d > 0 && ++index[d - 1] == dims[d - 1]) index[--d] = 0;
    if (d == 0) return;
  }
}

inline int64_t position(std::span<const int64_t> index, std::span<const int64_t> strides) {
  int64_t at = 0;
  for (size_t d = 0; d < index.size(); ++d) at += index[d] * strides[d];
  return at;
}

// Element (i0, i1, ...) lies at offset + sum of i * stride, in elements.
struct View {
  int64_t offset = 0;
  Dims strides;
};

// to[index] = from[index] for every index below dims; elements of 1, 2, 4, 8 or 16 bytes.
void copyView(std::span<const int64_t> dims, size_t element_size, const std::byte* from,
              const View& from_view, std::byte* to, const View& to_view);

}  // namespace tercel::eval
