// Dimensions and dense row-major shapes.
#pragma once
#include <cstdint>
#include <string>

#include "core/dtype.h"
#include "core/small_vector.h"

namespace tercel {

using Dims = SmallVector<int64_t, 6>;

// Product of the dimensions; 1 for a scalar.
int64_t elementCount(std::span<const int64_t> dims);
// False where the product of the dims but zeros and `bytes_per_element` does not fit in 62 bits, or
// a dim is < 0.
bool sizeIsRepresentable(std::span<const int64_t> dims, size_t bytes_per_element);
// Row-major strides in elements.
Dims rowMajorStrides(std::span<const int64_t> dims);

// A dense array type: `f32[4,8]`.
struct Shape {
  DType dtype = DType::f32;
  Dims dims;

  int64_t rank() const { return static_cast<int64_t>(dims.size()); }
  int64_t elements() const { return elementCount(dims); }
  int64_t bytes() const { return elements() * static_cast<int64_t>(byteSize(dtype)); }
  friend bool operator==(const Shape&, const Shape&) = default;
};

// Of complex numbers as pairs (real, imaginary), which lie in memory alike.
Shape pairsOf(const Shape& complex);

std::string toString(const Shape& shape);
std::string toString(std::span<const int64_t> dims);  // [4,8]

}  // namespace tercel
