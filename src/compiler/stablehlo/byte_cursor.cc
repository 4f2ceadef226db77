#include "compiler/stablehlo/byte_cursor.h"

#include <bit>

namespace tercel::stablehlo {

// The number of low zero bits of the first byte says how many bytes follow it (all zero: eight);
// the value is the rest of that byte and the following ones, little-endian.
uint64_t ByteCursor::longVarint() {
  uint64_t first = byte();
  if (!ok()) return 0;
  if (first == 0) {
    uint64_t value = 0;
    Bytes data = bytes(sizeof(value));
    if (data.size() == sizeof(value)) std::memcpy(&value, data.data(), sizeof(value));
    return value;
  }
  int extra = std::countr_zero(first);
  Bytes data = bytes(static_cast<uint64_t>(extra));
  uint64_t value = first;
  for (size_t i = 0; i < data.size(); ++i)
    value |= static_cast<uint64_t>(data[i]) << (8 * (i + 1));
  return value >> (extra + 1);
}

uint32_t ByteCursor::outOfRange(uint64_t value, const char* what) {
  fail(cat(what, ' ', value, " is out of range"));
  return 0;
}

Bytes ByteCursor::bytes(uint64_t size) {
  if (size > remaining()) {
    fail(cat("the data ends ", size - remaining(), " bytes early"));
    return {};
  }
  Bytes out(pos_, static_cast<size_t>(size));
  pos_ += size;
  return out;
}

std::string_view ByteCursor::nulTerminated() {
  const void* nul = remaining() == 0 ? nullptr : std::memchr(pos_, 0, remaining());
  if (nul == nullptr) return fail("a string without its end"), std::string_view();
  std::string_view text = asText(Bytes(pos_, static_cast<const std::byte*>(nul)));
  pos_ += text.size() + 1;
  return text;
}

void ByteCursor::alignTo(uint64_t alignment) {
  if (!std::has_single_bit(alignment)) return fail("an alignment that is no power of two");
  while (ok() && (offset() & (alignment - 1)) != 0)
    if (byte() != 0xcb) fail("alignment padding other than 0xcb");
}

void ByteCursor::fail(std::string_view message) {
  sink_->set(invalidArgument("malformed StableHLO artifact at byte ", offset(), ": ", message));
  pos_ = end_;
}

void ByteCursor::refuse(std::string_view message) {
  sink_->set(unimplemented("StableHLO artifact: ", message, " at byte ", offset()));
  pos_ = end_;
}

}  // namespace tercel::stablehlo
