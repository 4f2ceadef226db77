// What all files of ours begin with: their kind, its version, and a checksum of what follows.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "core/status.h"

namespace tercel::program {

struct FileKind {
  char magic[9];     // eight characters
  const char* what;  // for messages: "program"
  uint32_t version;  // any other is refused, never guessed at
};

// 64 bits of the content; not cryptographic.
uint64_t hashBytes(std::span<const std::byte> bytes);

// Room for the header in an empty file; sealFile fills it in when all else has been appended.
void startFile(std::vector<std::byte>& file);
void sealFile(std::vector<std::byte>& file, const FileKind& kind);

bool isFile(std::span<const std::byte> bytes, const FileKind& kind);
// What follows the header. INVALID_ARGUMENT for what is not a file of this kind and version,
// DATA_LOSS for a damaged one.
Result<std::span<const std::byte>> openFile(std::span<const std::byte> bytes, const FileKind& kind);

}  // namespace tercel::program
