// A bounded reader of the artifact's bytes. The first error sticks in the ErrorSink; from then on a
// cursor that failed is at its end and reads zeros, so callers check once per stage, not per read.
#pragma once
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>

#include "core/status.h"

namespace tercel::stablehlo {

using Bytes = std::span<const std::byte>;

// Indices and counts are 32-bit; the largest is a mark for "none".
inline constexpr uint64_t kMaxIndex = 0xffffffffu;

class ErrorSink {
 public:
  bool ok() const { return status_.ok(); }
  const Status& status() const { return status_; }
  void set(Status status) {
    if (ok()) status_ = std::move(status);
  }

 private:
  Status status_;
};

class ByteCursor {
 public:
  // `bytes` is a part of the artifact that starts at `origin`.
  ByteCursor(Bytes bytes, const std::byte* origin, ErrorSink& sink)
      : pos_(bytes.data()), end_(bytes.data() + bytes.size()), origin_(origin), sink_(&sink) {}

  bool ok() const { return sink_->ok(); }
  bool atEnd() const { return pos_ == end_; }
  size_t remaining() const { return static_cast<size_t>(end_ - pos_); }
  // Bytes from the start of the artifact.
  size_t offset() const { return static_cast<size_t>(pos_ - origin_); }
  ByteCursor over(Bytes bytes) const { return ByteCursor(bytes, origin_, *sink_); }

  uint8_t byte() {
    if (pos_ == end_) return fail("the data ends in the middle of an entry"), uint8_t{0};
    return static_cast<uint8_t>(*pos_++);
  }
  uint64_t varint() {
    if (pos_ != end_ && (static_cast<uint8_t>(*pos_) & 1)) [[likely]]
      return static_cast<uint8_t>(*pos_++) >> 1;
    return longVarint();
  }
  int64_t svarint() {
    uint64_t v = varint();
    return static_cast<int64_t>((v >> 1) ^ (~(v & 1) + 1));
  }
  // The low bit is an unrelated flag.
  uint64_t varintWithFlag(bool* flag) {
    uint64_t v = varint();
    *flag = v & 1;
    return v >> 1;
  }
  // Number of items that follow, of at least one byte each: never more than the bytes left.
  uint32_t count(const char* what) { return below(varint(), remaining() + 1, what); }
  // Index into a table of `limit` entries.
  uint32_t index(size_t limit, const char* what) { return below(varint(), limit, what); }
  // value, or an error and 0 where it is not below `limit`.
  uint32_t below(uint64_t value, size_t limit, const char* what) {
    if (value < limit && value < kMaxIndex) [[likely]] return static_cast<uint32_t>(value);
    return outOfRange(value, what);
  }

  Bytes bytes(uint64_t size);
  std::string_view nulTerminated();
  void alignTo(uint64_t alignment);
  Bytes bytesLeft() const { return {pos_, end_}; }

  void fail(std::string_view message);    // malformed: INVALID_ARGUMENT
  void refuse(std::string_view message);  // known or unknown, but not read: UNIMPLEMENTED

 private:
  uint64_t longVarint();
  uint32_t outOfRange(uint64_t value, const char* what);

  const std::byte* pos_;
  const std::byte* end_;
  const std::byte* origin_;
  ErrorSink* sink_;
};

inline std::string_view asText(Bytes bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

}  // namespace tercel::stablehlo
