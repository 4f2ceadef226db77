#include "program/file_header.h"

#include <bit>
#include <cstring>

namespace tercel::program {
namespace {

constexpr size_t kMagicBytes = 8;

struct Header {
  char magic[kMagicBytes];
  uint32_t version;
  uint32_t reserved;
  uint64_t payload_bytes;
  uint64_t payload_hash;
};

Status dataLoss(std::string message) { return Status(Code::data_loss, std::move(message)); }

}  // namespace

// Multiply and fold, eight bytes at a time.
uint64_t hashBytes(std::span<const std::byte> bytes) {
  constexpr uint64_t kOdd = 0x9e3779b97f4a7c15;
  uint64_t hash = 0x2545f4914f6cdd1d ^ bytes.size();
  auto mix = [&](uint64_t word) {
    unsigned __int128 product = static_cast<unsigned __int128>(hash ^ word) * kOdd;
    hash = static_cast<uint64_t>(product) ^ static_cast<uint64_t>(product >> 64);
    hash = std::rotl(hash + word, 29);
  };
  uint64_t word = 0;
  for (; bytes.size() >= 8; bytes = bytes.subspan(8)) {
    std::memcpy(&word, bytes.data(), 8);
    mix(word);
  }
  word = 0;
  if (!bytes.empty()) std::memcpy(&word, bytes.data(), bytes.size());
  mix(word);
  mix(kOdd);
  return hash;
}

void startFile(std::vector<std::byte>& file) { file.resize(sizeof(Header)); }

void sealFile(std::vector<std::byte>& file, const FileKind& kind) {
  std::span<const std::byte> payload = std::span(file).subspan(sizeof(Header));
  Header header{{}, kind.version, 0, payload.size(), hashBytes(payload)};
  std::memcpy(header.magic, kind.magic, kMagicBytes);
  std::memcpy(file.data(), &header, sizeof(Header));
}

bool isFile(std::span<const std::byte> bytes, const FileKind& kind) {
  return bytes.size() >= kMagicBytes && std::memcmp(bytes.data(), kind.magic, kMagicBytes) == 0;
}

Result<std::span<const std::byte>> openFile(std::span<const std::byte> bytes, const FileKind& kind) {
  if (!isFile(bytes, kind)) return invalidArgument("not a Tercel ", kind.what);
  if (bytes.size() < sizeof(Header)) return dataLoss(cat(kind.what, " file is cut short"));
  Header header;
  std::memcpy(&header, bytes.data(), sizeof(Header));
  if (header.version != kind.version) {
    const char* age = header.version > kind.version ? "a newer" : "an older";
    return invalidArgument(kind.what, " file has format version ", header.version, ", of ", age,
                           " Tercel; this one reads ", kind.version);
  }
  if (header.reserved != 0) return dataLoss(cat(kind.what, " file is damaged: in its header"));
  std::span<const std::byte> payload = bytes.subspan(sizeof(Header));
  if (header.payload_bytes != payload.size()) {
    return dataLoss(cat(kind.what, " file should have ", header.payload_bytes,
                        " bytes of content, not ", payload.size()));
  }
  if (hashBytes(payload) != header.payload_hash) {
    return dataLoss(cat(kind.what, " file is damaged: its checksum does not match"));
  }
  return payload;
}

}  // namespace tercel::program
