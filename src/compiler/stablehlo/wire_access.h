// Attributes of the wire as values: nothing where the attribute is of another kind.
#pragma once
#include <optional>
#include <string_view>

#include "compiler/stablehlo/wire.h"

namespace tercel::stablehlo {

// A String's characters or a Symbol's name.
std::optional<std::string_view> textOf(const WireModule& wire, uint32_t attr);
std::optional<int64_t> integerOf(const WireModule& wire, uint32_t attr);
// Of a Float of 32 or 64 bits.
std::optional<double> numberOf(const WireModule& wire, uint32_t attr);
// A Boolean, or an integer of one bit.
std::optional<bool> boolOf(const WireModule& wire, uint32_t attr);
// The entries of an Array; of a Dictionary: names and values in turn.
std::optional<std::span<const uint32_t>> listOf(const WireModule& wire, uint32_t attr,
                                                AttrKind kind = AttrKind::Array);
// The value of a Dictionary's entry, or kNone.
uint32_t entryOf(const WireModule& wire, uint32_t dictionary, std::string_view name);
// The spelling of an attribute that is a choice (WIRE_ENUM), or "".
std::string_view spellingOf(const WireAttr& attr);

// Numbers of elements, of bytes each, of a Tensor or DenseArray; and how its bytes hold them.
enum class Packing : uint8_t { plain, splat, bits, all_true };
struct Elements {
  uint64_t count = 0;
  uint32_t type = kNone;
  size_t size = 0;  // bytes of one
  bool is_unsigned = false;
  bool is_boolean = false;
  Packing packing = Packing::plain;
  std::string_view bytes;
};
// Fails where the bytes do not fit the type.
std::optional<Elements> elementsOf(const WireModule& wire, uint32_t attr);
// Of integers or booleans; index < count.
int64_t elementAt(const Elements& elements, uint64_t index);

}  // namespace tercel::stablehlo
