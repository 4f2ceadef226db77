#include "core/shape.h"

#include <algorithm>

namespace tercel {

int64_t elementCount(std::span<const int64_t> dims) {
  int64_t count = 1;
  for (int64_t d : dims) count *= d;
  return count;
}

bool sizeIsRepresentable(std::span<const int64_t> dims, size_t bytes_per_element) {
  constexpr int64_t kLimit = int64_t{1} << 62;
  int64_t product = static_cast<int64_t>(bytes_per_element);
  for (int64_t d : dims) {
    if (d < 0 || (d > 0 && product > kLimit / d)) return false;
    product *= std::max<int64_t>(d, 1);  // strides must fit in empty arrays too
  }
  return true;
}

Dims rowMajorStrides(std::span<const int64_t> dims) {
  Dims strides(dims.size(), 1);
  for (size_t i = dims.size(); i-- > 1;) strides[i - 1] = strides[i] * dims[i];
  return strides;
}

std::string toString(std::span<const int64_t> dims) {
  std::string text = "[";
  for (size_t i = 0; i < dims.size(); ++i) {
    if (i) text += ',';
    text += std::to_string(dims[i]);
  }
  return text + ']';
}

Shape pairsOf(const Shape& complex) {
  Shape pairs{realPart(complex.dtype), complex.dims};
  pairs.dims.push_back(2);
  return pairs;
}

std::string toString(const Shape& shape) {
  return std::string(dtypeName(shape.dtype)) + toString(std::span<const int64_t>(shape.dims));
}

}  // namespace tercel
