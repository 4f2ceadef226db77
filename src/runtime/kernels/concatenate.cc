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

// In two words that overlap.
template <size_t kWord>
void copyPair(const std::byte* from, std::byte* to, int64_t rows, size_t bytes, int64_t stride) {
  for (int64_t r = 0; r < rows; ++r, from += bytes, to += stride) {
    std::memcpy(to, from, kWord);
    std::memcpy(to + bytes - kWord, from + bytes - kWord, kWord);
  }
}

// In words, of which the last one overlaps the one before.
void copyLine(const std::byte* from, std::byte* to, int64_t rows, size_t bytes, int64_t stride) {
  constexpr size_t kWord = 16;
  for (int64_t r = 0; r < rows; ++r, from += bytes, to += stride) {
    for (size_t i = 0; i + kWord < bytes; i += kWord) std::memcpy(to + i, from + i, kWord);
    std::memcpy(to + bytes - kWord, from + bytes - kWord, kWord);
  }
}

void copyAny(const std::byte* from, std::byte* to, int64_t rows, size_t bytes, int64_t stride) {
  for (int64_t r = 0; r < rows; ++r, from += bytes, to += stride) std::memcpy(to, from, bytes);
}

CopyRows copyFor(int64_t bytes) {
  constexpr int64_t kLongestLine = 512;
  switch (bytes) {
    case 1: return copyFixed<1>;
    case 2: return copyFixed<2>;
    case 3: return copyPair<2>;
    case 4: return copyFixed<4>;
    case 8: return copyFixed<8>;
    case 16: return copyFixed<16>;
    case 32: return copyFixed<32>;
    case 64: return copyFixed<64>;
    default: break;
  }
  if (bytes < 8) return copyPair<4>;
  if (bytes < 16) return copyPair<8>;
  if (bytes < 32) return copyPair<16>;
  return bytes <= kLongestLine ? copyLine : copyAny;
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
