// wire.def as tables: how each code of each dialect is encoded, and the names for messages.
#pragma once
#include <optional>
#include <string_view>

#include "compiler/stablehlo/wire.h"

namespace tercel::stablehlo {

enum class Dialect : uint8_t { builtin, vhlo, sdy };
std::optional<Dialect> dialectFromName(std::string_view name);

template <class Kind>
struct WireRow {
  Kind kind = Kind::Unknown;
  uint16_t bits = 0;
  const char* fields = nullptr;  // null: no such code
};

// The row of a code, or null.
const WireRow<AttrKind>* attrRow(Dialect dialect, uint64_t code);
const WireRow<TypeKind>* typeRow(Dialect dialect, uint64_t code);

std::string_view kindName(AttrKind kind);
std::string_view kindName(TypeKind kind);

}  // namespace tercel::stablehlo
