#include "compiler/stablehlo/location_table.h"

#include "compiler/stablehlo/wire_access.h"

namespace tercel::stablehlo {
namespace {

constexpr int kMaxSteps = 64;

void setFile(const WireModule& wire, const WireAttr& a, Location& location) {
  location.file = textOf(wire, wire.itemsOf(a.items)[0]).value_or("");
  std::span<const int64_t> ints = wire.intsOf(a.ints);
  // A range's ints stand behind their number: none, a line, or a line and more.
  if (a.kind == AttrKind::FileRangeLoc) ints = ints.subspan(1);
  if (!ints.empty()) location.line = ints[0];
  if (ints.size() > 1) location.column = ints[1];
}

// The outermost name; then inwards, along callees, to the first source line.
Location find(const WireModule& wire, uint32_t attr) {
  Location location;
  for (int step = 0; step < kMaxSteps; ++step) {
    const WireAttr& a = wire.attrs[attr];
    std::span<const uint32_t> items = wire.itemsOf(a.items);
    switch (a.kind) {
      case AttrKind::NameLoc:
        if (location.name.empty()) location.name = textOf(wire, items[0]).value_or("");
        attr = items[1];
        break;
      case AttrKind::CallSiteLoc: attr = items[0]; break;
      case AttrKind::FusedLoc:
        if (items[0] == 0) return location;
        attr = items[1];
        break;
      case AttrKind::FileLoc:
      case AttrKind::FileRangeLoc: setFile(wire, a, location); return location;
      default: return location;
    }
  }
  return location;
}

std::string textOf(const Location& l) {
  if (l.file.empty()) return std::string(l.name);
  std::string source = cat(l.file, ':', l.line);
  if (l.column > 0) source += cat(':', l.column);
  return l.name.empty() ? source : cat(l.name, " (", source, ')');
}

}  // namespace

void LocationTable::forgetFunction() {
  for (uint32_t known : of_function_) ids_[known] = kNew;
  of_function_.clear();
}

void LocationTable::enterFunction(std::string_view name, uint32_t attr) {
  forgetFunction();
  function_ = find(wire_, attr);
  auto call = calls_.find(name);
  if (function_.file.empty() && call != calls_.end()) function_ = call->second;
}

void LocationTable::noteCall(std::string_view function, uint32_t attr) {
  if (!calls_.contains(function)) calls_.emplace(function, inFunction(attr));
}

Location LocationTable::enterCall(uint32_t function, uint32_t call) {
  Location outer = function_;
  Location own = find(wire_, function);
  if (own.file.empty()) own = inFunction(call);
  forgetFunction();
  function_ = own;
  return outer;
}

void LocationTable::leaveCall(const Location& outer) {
  forgetFunction();
  function_ = outer;
}

Location LocationTable::inFunction(uint32_t attr) const {
  Location own = find(wire_, attr);
  if (!own.file.empty()) return own;
  Location whole = function_;
  whole.name = own.name;
  return whole;
}

std::string LocationTable::text(uint32_t attr) const { return textOf(inFunction(attr)); }

Status LocationTable::id(uint32_t attr, ir::LocId* id) {
  if (ids_[attr] == kNew) {
    std::string words = text(attr);
    TERCEL_TRY(budget_.spend(words.size()));
    if (find(wire_, attr).file.empty()) of_function_.push_back(attr);
    ids_[attr] = words.empty() ? ir::LocId::kNone : module_.addLocation(std::move(words)).index;
  }
  id->index = ids_[attr];
  return {};
}

}  // namespace tercel::stablehlo
