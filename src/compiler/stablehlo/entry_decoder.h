// Decodes the entries of the attribute and type section by their rows in wire.def.
#pragma once
#include <string_view>

#include "compiler/stablehlo/wire.h"
#include "compiler/stablehlo/wire_codes.h"

namespace tercel::stablehlo {

// Where an entry's bytes are. The counts of all attributes and types are known before the first
// entry is decoded: references are checked against them.
struct WireEntry {
  Bytes bytes;
  std::string_view dialect;
  bool is_text = false;
};

// Types first: the width of an integer attribute comes from its type.
void decodeType(const WireEntry& entry, ByteCursor cursor, WireModule& wire, WireType& type);
void decodeAttr(const WireEntry& entry, ByteCursor cursor, WireModule& wire, WireAttr& attr);

}  // namespace tercel::stablehlo
