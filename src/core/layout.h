// The order of an array's dimensions in memory, the innermost first: XLA's minor_to_major. An empty
// one is row-major.
#pragma once
#include <span>
#include <string>
#include <vector>

#include "core/shape.h"

namespace tercel {

// Whether each of `rank` dimensions is there once.
bool isLayout(std::span<const int64_t> layout, size_t rank);
bool isRowMajor(std::span<const int64_t> layout);
Dims rowMajorLayout(size_t rank);
// Whether an array of these dims lies in memory as one whole either way: where a dimension of length
// 1 stands does not matter.
bool sameInMemory(std::span<const int64_t> dims, std::span<const int64_t> a,
                  std::span<const int64_t> b);

// From the dims as shown to those in memory, outermost first, as a transpose's permutation, and back.
std::vector<int64_t> toMemory(std::span<const int64_t> layout);
std::vector<int64_t> fromMemory(std::span<const int64_t> layout);
// `shown` dims (or strides) as they lie in memory, and back.
Dims memoryOrder(const Dims& shown, std::span<const int64_t> layout);
Dims shownOrder(const Dims& in_memory, std::span<const int64_t> layout);

// As XLA writes it: "{1,0}".
std::string layoutText(std::span<const int64_t> layout, size_t rank);

// An array: what its dims are and how they lie in memory, dense.
struct ArrayType {
  ArrayType(Shape s = {}, Dims l = {}) : shape(std::move(s)), layout(std::move(l)) {}

  Shape shape;
  Dims layout;
  // The row-major array of the same bytes.
  Shape inMemory() const { return {shape.dtype, memoryOrder(shape.dims, layout)}; }
};
std::string toString(const ArrayType& type);  // f32[4,8]{0,1}; where it is row-major f32[4,8]

}  // namespace tercel
