// Bytes in the LZ4 block format: a third of what machine code and tables take, at a memory's speed.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "core/status.h"

namespace tercel::program {

struct Packed {
  uint64_t size = 0;             // of what they unpack to
  std::vector<std::byte> bytes;  // as they are where they have that size
};

// The same bytes, not packed.
Packed stored(std::vector<std::byte> bytes);

// Own code, since each library of tercel.aot has it, for each architecture: half a kilobyte. Its source
// is the format's description, lz4_Block_format.md of the LZ4 library, which aot/pack.h packs with.
// DATA_LOSS where they are no such block; RESOURCE_EXHAUSTED.
Result<std::vector<std::byte>> unpack(const Packed& packed);

}  // namespace tercel::program
