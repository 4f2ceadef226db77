#include "pjrt/wire.h"

#include <bit>
#include <cstring>

namespace tercel::pjrt {
namespace {

Status malformed(std::string_view what) { return invalidArgument("malformed protobuf: ", what); }

Status wrongType(const WireField& field) {
  return malformed(cat("field ", field.number, " has wire type ", static_cast<int>(field.type)));
}

bool takeVarint(std::string_view& bytes, uint64_t& value) {
  value = 0;
  for (int shift = 0; shift < 64; shift += 7) {
    if (bytes.empty()) return false;
    const uint8_t byte = static_cast<uint8_t>(bytes.front());
    bytes.remove_prefix(1);
    value |= uint64_t{byte & 0x7fu} << shift;
    if (byte < 0x80) return true;
  }
  return false;
}

template <class Int>
bool takeFixed(std::string_view& bytes, uint64_t& value) {
  Int fixed = 0;
  if (bytes.size() < sizeof fixed) return false;
  std::memcpy(&fixed, bytes.data(), sizeof fixed);
  bytes.remove_prefix(sizeof fixed);
  value = fixed;
  return true;
}

bool takeBytes(std::string_view& bytes, std::string_view& value) {
  uint64_t size = 0;
  if (!takeVarint(bytes, size) || size > bytes.size()) return false;
  value = bytes.substr(0, size);
  bytes.remove_prefix(size);
  return true;
}

bool takeValue(std::string_view& bytes, WireField& field) {
  switch (field.type) {
    case WireType::varint:
      return takeVarint(bytes, field.value);
    case WireType::fixed64:
      return takeFixed<uint64_t>(bytes, field.value);
    case WireType::bytes:
      return takeBytes(bytes, field.bytes);
    case WireType::fixed32:
      return takeFixed<uint32_t>(bytes, field.value);
  }
  return false;
}

}  // namespace

Result<int64_t> WireField::integer() const {
  if (type != WireType::varint) return wrongType(*this);
  return static_cast<int64_t>(value);
}

Result<bool> WireField::boolean() const {
  if (type != WireType::varint) return wrongType(*this);
  return value != 0;
}

Result<double> WireField::real() const {
  if (type == WireType::fixed64) return std::bit_cast<double>(value);
  if (type == WireType::fixed32) {
    return static_cast<double>(std::bit_cast<float>(static_cast<uint32_t>(value)));
  }
  return wrongType(*this);
}

Result<std::string_view> WireField::text() const {
  if (type != WireType::bytes) return wrongType(*this);
  return bytes;
}

Status WireField::appendTo(std::vector<int64_t>& list) const {
  if (type == WireType::varint) {
    list.push_back(static_cast<int64_t>(value));
    return {};
  }
  if (type != WireType::bytes) return wrongType(*this);
  std::string_view rest = bytes;
  while (!rest.empty()) {
    uint64_t element = 0;
    if (!takeVarint(rest, element)) return malformed("a packed list ends early");
    list.push_back(static_cast<int64_t>(element));
  }
  return {};
}

Status readMessage(std::string_view bytes, const std::function<Status(const WireField&)>& visit) {
  while (!bytes.empty()) {
    uint64_t tag = 0;
    if (!takeVarint(bytes, tag)) return malformed("a field tag ends early");
    WireField field;
    if (tag >> 3 == 0 || tag >> 32 != 0) return malformed("bad field number");
    field.number = static_cast<uint32_t>(tag >> 3);
    field.type = static_cast<WireType>(tag & 7);
    if (!takeValue(bytes, field)) return malformed(cat("field ", field.number, " ends early"));
    TERCEL_TRY(visit(field));
  }
  return {};
}

void WireWriter::varint(uint64_t value) {
  while (value >= 0x80) {
    out_.push_back(static_cast<char>(value | 0x80));
    value >>= 7;
  }
  out_.push_back(static_cast<char>(value));
}

void WireWriter::integer(uint32_t number, int64_t value) {
  varint(uint64_t{number} << 3 | static_cast<uint64_t>(WireType::varint));
  varint(static_cast<uint64_t>(value));
}

void WireWriter::bytes(uint32_t number, std::string_view value) {
  varint(uint64_t{number} << 3 | static_cast<uint64_t>(WireType::bytes));
  varint(value.size());
  out_.append(value);
}

void WireWriter::packed(uint32_t number, std::span<const int64_t> values) {
  if (values.empty()) return;
  WireWriter list;
  for (const int64_t value : values) list.varint(static_cast<uint64_t>(value));
  bytes(number, list.out_);
}

}  // namespace tercel::pjrt
