#include "compiler/stablehlo/wire_codes.h"

#include <array>

namespace tercel::stablehlo {
namespace {

constexpr size_t kDialects = 3;
constexpr size_t kCodes = 48;
template <class Kind>
using Rows = std::array<std::array<WireRow<Kind>, kCodes>, kDialects>;

constexpr Rows<AttrKind> kAttrRows = [] {
  Rows<AttrKind> rows;
#define WIRE_ATTR(dialect, code, kind, fields) \
  rows[static_cast<size_t>(Dialect::dialect)][code] = {AttrKind::kind, 0, fields};
#include "compiler/stablehlo/wire.def"
  return rows;
}();

constexpr Rows<TypeKind> kTypeRows = [] {
  Rows<TypeKind> rows;
#define WIRE_TYPE(dialect, code, kind, bits, fields) \
  rows[static_cast<size_t>(Dialect::dialect)][code] = {TypeKind::kind, bits, fields};
#include "compiler/stablehlo/wire.def"
  return rows;
}();

template <class Kind>
const WireRow<Kind>* find(const Rows<Kind>& rows, Dialect dialect, uint64_t code) {
  if (code >= kCodes) return nullptr;
  const WireRow<Kind>& row = rows[static_cast<size_t>(dialect)][code];
  return row.fields == nullptr ? nullptr : &row;
}

}  // namespace

std::optional<Dialect> dialectFromName(std::string_view name) {
  if (name == "builtin") return Dialect::builtin;
  if (name == "vhlo") return Dialect::vhlo;
  if (name == "sdy") return Dialect::sdy;
  return std::nullopt;
}

const WireRow<AttrKind>* attrRow(Dialect dialect, uint64_t code) {
  return find(kAttrRows, dialect, code);
}

const WireRow<TypeKind>* typeRow(Dialect dialect, uint64_t code) {
  return find(kTypeRows, dialect, code);
}

std::string_view kindName(AttrKind kind) {
#define WIRE_ATTR(dialect, code, name, fields) \
  if (kind == AttrKind::name) return #name;
#include "compiler/stablehlo/wire.def"
  return kind == AttrKind::Text ? "Text" : "Unknown";
}

std::string_view kindName(TypeKind kind) {
#define WIRE_TYPE(dialect, code, name, bits, fields) \
  if (kind == TypeKind::name) return #name;
#include "compiler/stablehlo/wire.def"
  return kind == TypeKind::Text ? "Text" : "Unknown";
}

}  // namespace tercel::stablehlo
