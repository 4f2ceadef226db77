#include "aot/pack.h"

#include <lz4.h>
#include <lz4hc.h>

namespace tercel::aot {

program::Packed pack(std::vector<std::byte> bytes) {
  if (bytes.size() > LZ4_MAX_INPUT_SIZE) return program::stored(std::move(bytes));
  const int size = static_cast<int>(bytes.size());
  std::vector<std::byte> out(static_cast<size_t>(LZ4_compressBound(size)));
  const int packed = LZ4_compress_HC(reinterpret_cast<const char*>(bytes.data()),
                                     reinterpret_cast<char*>(out.data()), size,
                                     static_cast<int>(out.size()), LZ4HC_CLEVEL_MAX);
  if (packed <= 0 || packed >= size) return program::stored(std::move(bytes));
  out.resize(static_cast<size_t>(packed));
  return {bytes.size(), std::move(out)};
}

}  // namespace tercel::aot
