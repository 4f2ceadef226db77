// Arrays of any strides into dense memory.
#pragma once
#include <span>

#include "core/layout.h"
#include "runtime/kernels/parallel.h"

namespace tercel::runtime {

Dims byteStrides(const Shape& shape);  // of the dense row-major array

// Whether an array with these strides is dense and row-major; strides of dimensions of length 1
// do not matter, and of empty arrays none.
bool isDense(const Shape& shape, std::span<const int64_t> byte_strides);

// `from` is the address of element [0,0,...]; strides may be zero or negative.
void copyStrided(const void* from, const Shape& shape, std::span<const int64_t> byte_strides,
                 void* to, const kernels::Parallel& parallel);

// A dense array into one of another layout, on the calling thread.
void copyToLayout(const void* from, const ArrayType& type, void* to,
                  std::span<const int64_t> layout);

}  // namespace tercel::runtime
