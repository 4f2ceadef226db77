// The protobuf wire format, as far as PJRT's messages need it.
#pragma once
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/status.h"

namespace tercel::pjrt {

enum class WireType : uint8_t { varint = 0, fixed64 = 1, bytes = 2, fixed32 = 5 };

struct WireField {
  uint32_t number = 0;
  WireType type = WireType::varint;
  uint64_t value = 0;      // varint, fixed32 and fixed64
  std::string_view bytes;  // bytes: a string, a message or a packed list

  // INVALID_ARGUMENT where the field is not of the kind asked for.
  Result<int64_t> integer() const;
  Result<bool> boolean() const;
  Result<double> real() const;
  Result<std::string_view> text() const;
  // Appends a repeated varint field, which arrives one by one or packed.
  Status appendTo(std::vector<int64_t>& list) const;
};

// Calls `visit` for each field of a message, in order; stops at its first error. A malformed
// message is INVALID_ARGUMENT. Unknown fields are the visitor's to ignore.
Status readMessage(std::string_view bytes, const std::function<Status(const WireField&)>& visit);

class WireWriter {
 public:
  void integer(uint32_t number, int64_t value);
  void bytes(uint32_t number, std::string_view value);
  void packed(uint32_t number, std::span<const int64_t> values);
  std::string take() { return std::move(out_); }

 private:
  void varint(uint64_t value);

  std::string out_;
};

}  // namespace tercel::pjrt
