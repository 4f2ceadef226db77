#include "program/file_header.h"

#include <array>
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

// Multiply and fold, eight bytes at a time, in lanes that wait for one another at the end only.
uint64_t hashBytes(std::span<const std::byte> bytes) {
  constexpr uint64_t kOdd = 0x9e3779b97f4a7c15;
  constexpr size_t kLanes = 8;
  auto mix = [](uint64_t& hash, uint64_t word) {
    unsigned __int128 product = static_cast<unsigned __int128>(hash ^ word) * kOdd;
    hash = static_cast<uint64_t>(product) ^ static_cast<uint64_t>(product >> 64);
    hash = std::rotl(hash + word, 29);
  };
  std::array<uint64_t, kLanes> words, lanes;
  for (size_t i = 0; i < kLanes; ++i) lanes[i] = 0x2545f4914f6cdd1d ^ (bytes.size() + i * kOdd);
  auto mixAll = [&] {
    for (size_t i = 0; i < kLanes; ++i) mix(lanes[i], words[i]);
  };
  for (; bytes.size() >= sizeof words; bytes = bytes.subspan(sizeof words)) {
    std::memcpy(words.data(), bytes.data(), sizeof words);
    mixAll();
  }
  words.fill(0);
  if (!bytes.empty()) std::memcpy(words.data(), bytes.data(), bytes.size());
  mixAll();
  for (size_t i = 1; i < kLanes; ++i) mix(lanes[0], lanes[i]);
  mix(lanes[0], kOdd);
  return lanes[0];
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
