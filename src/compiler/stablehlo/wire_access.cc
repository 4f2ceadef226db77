#include "compiler/stablehlo/wire_access.h"

#include <algorithm>
#include <bit>
#include <cstring>

namespace tercel::stablehlo {
namespace {

// Bytes of one element in a dense attribute: sub-byte types take a byte each.
size_t elementSize(const WireModule& wire, uint32_t type) {
  const WireType& t = wire.types[type];
  if (t.kind == TypeKind::Complex) return size_t{2} * wire.types[t.type].bits / 8;
  return t.kind == TypeKind::TF32 ? 4 : (size_t{t.bits} + 7) / 8;
}

bool countElements(std::span<const int64_t> counted_dims, uint64_t* count) {
  *count = 1;
  for (int64_t dim : counted_dims.subspan(1)) {
    if (dim < 0) return false;
    if (__builtin_mul_overflow(*count, static_cast<uint64_t>(dim), count)) return false;
  }
  return *count < (uint64_t{1} << 62);
}

// Booleans come packed into bits, or a byte each; all true as one byte of ones.
std::optional<Packing> booleanPacking(std::string_view bytes, uint64_t count) {
  if (bytes.size() == 1 && bytes[0] == '\xff') return Packing::all_true;
  if (bytes.size() == count) return Packing::plain;
  if (bytes.size() == (count + 7) / 8) return Packing::bits;
  if (bytes.size() == 1) return Packing::splat;
  return std::nullopt;
}

std::optional<Packing> packing(const Elements& e) {
  if (e.is_boolean) return booleanPacking(e.bytes, e.count);
  if (e.count <= e.bytes.size() && e.bytes.size() == e.count * e.size) return Packing::plain;
  if (e.bytes.size() == e.size) return Packing::splat;
  return std::nullopt;
}

bool isBoolean(const WireType& type) {
  return type.kind == TypeKind::Bool || (type.kind == TypeKind::Integer && type.bits == 1);
}

}  // namespace

std::optional<std::string_view> textOf(const WireModule& wire, uint32_t attr) {
  if (attr == kNone) return std::nullopt;
  const WireAttr* a = &wire.attrs[attr];
  if (a->kind == AttrKind::Symbol) a = &wire.attrs[wire.itemsOf(a->items)[0]];
  if (a->kind != AttrKind::String) return std::nullopt;
  return a->text;
}

std::optional<int64_t> integerOf(const WireModule& wire, uint32_t attr) {
  if (attr == kNone || wire.attrs[attr].kind != AttrKind::Integer) return std::nullopt;
  return static_cast<int64_t>(wire.attrs[attr].bits);
}

std::optional<double> numberOf(const WireModule& wire, uint32_t attr) {
  if (attr == kNone || wire.attrs[attr].kind != AttrKind::Float) return std::nullopt;
  const WireAttr& a = wire.attrs[attr];
  if (wire.types[a.type].kind == TypeKind::F64) return std::bit_cast<double>(a.bits);
  if (wire.types[a.type].kind != TypeKind::F32) return std::nullopt;
  return std::bit_cast<float>(static_cast<uint32_t>(a.bits));
}

std::optional<bool> boolOf(const WireModule& wire, uint32_t attr) {
  if (attr == kNone) return std::nullopt;
  const WireAttr& a = wire.attrs[attr];
  bool one_bit = a.kind == AttrKind::Integer && isBoolean(wire.types[a.type]);
  if (a.kind != AttrKind::Boolean && !one_bit) return std::nullopt;
  return a.bits != 0;
}

std::optional<std::span<const uint32_t>> listOf(const WireModule& wire, uint32_t attr,
                                                AttrKind kind) {
  if (attr == kNone || wire.attrs[attr].kind != kind) return std::nullopt;
  return wire.itemsOf(wire.attrs[attr].items);
}

uint32_t entryOf(const WireModule& wire, uint32_t dictionary, std::string_view name) {
  auto entries = listOf(wire, dictionary, AttrKind::Dictionary);
  if (!entries) return kNone;
  for (size_t i = 0; i + 1 < entries->size(); i += 2)
    if (textOf(wire, (*entries)[i]) == name) return (*entries)[i + 1];
  return kNone;
}

std::string_view spellingOf(const WireAttr& attr) {
#define WIRE_ENUM(choice, value, spelling) \
  if (attr.kind == AttrKind::choice && attr.bits == value) return spelling;
#include "compiler/stablehlo/wire.def"
  return {};
}

std::optional<Elements> elementsOf(const WireModule& wire, uint32_t attr) {
  if (attr == kNone) return std::nullopt;
  const WireAttr& a = wire.attrs[attr];
  Elements e{.type = a.type, .bytes = a.text};
  if (a.kind == AttrKind::Tensor) {
    const WireType& tensor = wire.types[a.type];
    if (tensor.kind != TypeKind::Tensor) return std::nullopt;
    if (!countElements(wire.intsOf(tensor.ints), &e.count)) return std::nullopt;
    e.type = tensor.type;
  } else if (a.kind == AttrKind::DenseArray) {
    e.count = a.bits;
  } else {
    return std::nullopt;
  }
  e.size = elementSize(wire, e.type);
  e.is_unsigned = wire.types[e.type].is_unsigned;
  e.is_boolean = isBoolean(wire.types[e.type]);
  if (e.size == 0) return std::nullopt;
  std::optional<Packing> p = packing(e);
  if (!p) return std::nullopt;
  e.packing = *p;
  return e;
}

int64_t elementAt(const Elements& e, uint64_t index) {
  if (e.packing == Packing::all_true) return 1;
  if (e.packing == Packing::bits)
    return (static_cast<uint8_t>(e.bytes[index / 8]) >> (index % 8)) & 1;
  size_t at = e.packing == Packing::splat ? 0 : index * e.size;
  uint64_t value = 0;
  std::memcpy(&value, e.bytes.data() + at, std::min(e.size, sizeof(value)));
  if (e.is_boolean) return value != 0;
  if (e.size >= sizeof(value)) return static_cast<int64_t>(value);
  int unused = static_cast<int>(64 - 8 * e.size);
  if (e.is_unsigned) return static_cast<int64_t>(value);
  return static_cast<int64_t>(value << unused) >> unused;
}

}  // namespace tercel::stablehlo
