#include "runtime/kernels/concatenate.h"

#include <algorithm>
#include <cstddef>
#include <cstring>

namespace tercel::kernels {
namespace {

constexpr int64_t kBlock = 16 << 10;  // bytes of the result that stay in cache for all operands
constexpr int64_t kTask = 64 << 10;

using CopyRows = void (*)(const std::byte* from, std::byte* to, int64_t rows, size_t bytes,
                          int64_t stride);

template <size_t kBytes>
void copyFixed(const std::byte* from, std::byte* to, int64_t rows, size_t, int64_t stride) {
  for (int64_t r = 0; r < rows; ++r, from += kBytes, to += stride) std::memcpy(to, from, kBytes);
}

void copyAny(const std::byte* from, std::byte* to, int64_t rows, size_t bytes, int64_t stride) {
  for (int64_t r = 0; r < rows; ++r, from += bytes, to += stride) std::memcpy(to, from, bytes);
}

CopyRows copyFor(int64_t bytes) {
  switch (bytes) {
    case 1: return copyFixed<1>;
    case 2: return copyFixed<2>;
    case 4: return copyFixed<4>;
    case 8: return copyFixed<8>;
    case 16: return copyFixed<16>;
    case 32: return copyFixed<32>;
    case 64: return copyFixed<64>;
    default: return copyAny;
  }
}

}  // namespace

void concatenate(const Concatenation& shape, const void* const* operands, void* result,
                 const Parallel& parallel) {
  auto* to = static_cast<std::byte*>(result);
  const int64_t stride = shape.result_bytes;
  const int64_t block = std::max<int64_t>(1, kBlock / std::max<int64_t>(1, stride));
  auto copyBlock = [&](int64_t first, int64_t rows) {
    int64_t offset = first * stride;
    for (size_t i = 0; i < shape.bytes.size(); ++i) {
      const int64_t bytes = shape.bytes[i];
      const auto* from = static_cast<const std::byte*>(operands[i]) + first * bytes;
      if (bytes > 0)
        copyFor(bytes)(from, to + offset, rows, static_cast<size_t>(bytes), stride);
      offset += bytes;
    }
  };
  const int64_t blocks = (shape.rows + block - 1) / block;
  const int64_t grain = std::max<int64_t>(1, kTask / std::max<int64_t>(1, block * stride));
  parallel.forEach(blocks, grain, [&](int64_t begin, int64_t end) {
    for (int64_t b = begin; b < end; ++b)
      copyBlock(b * block, std::min(block, shape.rows - b * block));
  });
}

}  // namespace tercel::kernels
