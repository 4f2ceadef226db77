#include "compiler/stablehlo/attr_text.h"

#include <bit>
#include <charconv>
#include <cmath>

#include "compiler/stablehlo/type_table.h"
#include "compiler/stablehlo/wire_access.h"
#include "compiler/stablehlo/wire_codes.h"
#include "core/dtype.h"

namespace tercel::stablehlo {
namespace {

constexpr int kMaxDepth = 16;
constexpr size_t kMaxListedElements = 1 << 20;

std::string quoted(std::string_view text) {
  constexpr char kHex[] = "0123456789abcdef";
  std::string out = "\"";
  for (char c : text) {
    auto byte = static_cast<uint8_t>(c);
    if (c == '"' || c == '\\') {
      out += {'\\', c};
    } else if (byte < 0x20 || byte == 0x7f) {
      out += {'\\', 'x', kHex[byte >> 4], kHex[byte & 15]};
    } else {
      out += c;
    }
  }
  return out + '"';
}

template <class T>
std::string shortest(T number) {
  char buffer[40];
  auto end = std::to_chars(buffer, buffer + sizeof(buffer), number).ptr;
  return std::string(buffer, end);
}

// A name of letters, digits, _ and . as it is.
std::string nameText(std::string_view name) {
  constexpr std::string_view kPlain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.";
  bool plain = !name.empty() && name.find_first_not_of(kPlain) == name.npos;
  return plain ? std::string(name) : quoted(name);
}

std::string floatText(uint64_t bits, DType dtype) {
  double wide = std::bit_cast<double>(bits);
  float narrow = std::bit_cast<float>(static_cast<uint32_t>(bits));
  if (dtype == DType::f16) narrow = halfToFloat(static_cast<uint16_t>(bits));
  if (dtype == DType::bf16) narrow = std::bit_cast<float>(static_cast<uint32_t>(bits) << 16);
  bool is_wide = dtype == DType::f64;
  bool has_digits = is_wide || dtype == DType::f32 || isHalfFloat(dtype);
  if (has_digits && std::isfinite(is_wide ? wide : double{narrow}))
    return is_wide ? shortest(wide) : shortest(narrow);
  uint64_t mask = is_wide ? ~uint64_t{0} : (uint64_t{1} << (8 * byteSize(dtype))) - 1;
  char buffer[20];
  auto end = std::to_chars(buffer, buffer + sizeof(buffer), bits & mask, 16).ptr;
  return "0x" + std::string(buffer, end);
}

class Writer {
 public:
  Writer(const WireModule& wire, Budget& budget, std::string& text)
      : wire_(wire), budget_(budget), text_(text) {}

  Status write(uint32_t index, int depth) {
    if (depth > kMaxDepth) return unimplemented("attributes nested deeper than ", kMaxDepth);
    TERCEL_TRY(budget_.spend(64 + wire_.attrs[index].text.size()));
    const WireAttr& a = wire_.attrs[index];
    switch (a.kind) {
      case AttrKind::Array: return writeList(wire_.itemsOf(a.items), "[", "]", depth);
      case AttrKind::Dictionary: return writeDictionary(a, depth);
      case AttrKind::SdySharding: return writeSharding(a, depth);
      case AttrKind::SdyDimSharding: return writeDimSharding(a, depth);
      case AttrKind::SdyAxisRef: return writeAxis(a);
      case AttrKind::SdyMesh: return writeMesh(a);
      case AttrKind::SdyShardingPerValue:
        return writeList(wire_.itemsOf(a.items), "<[", "]>", depth);
      case AttrKind::Tensor:
      case AttrKind::DenseArray: return writeElements(index);
      default: return writeLeaf(index);
    }
  }

 private:
  std::span<const uint32_t> items(const WireAttr& a) const { return wire_.itemsOf(a.items); }

  Status writeLeaf(uint32_t index) {
    const WireAttr& a = wire_.attrs[index];
    switch (a.kind) {
      case AttrKind::String: text_ += quoted(a.text); return {};
      case AttrKind::Symbol: text_ += cat('@', textOf(wire_, index).value_or("")); return {};
      case AttrKind::Boolean: text_ += a.bits ? "true" : "false"; return {};
      case AttrKind::Unit: text_ += "unit"; return {};
      case AttrKind::Type:
        TERCEL_TRY(budget_.spend(24 * wire_.types[a.type].ints.count));
        text_ += typeText(wire_, a.type);
        return {};
      case AttrKind::Integer:
      case AttrKind::Float: return writeNumber(a);
      default: break;
    }
    std::string_view spelling = spellingOf(a);
    if (spelling.empty()) return unimplemented("an attribute of kind ", kindName(a.kind));
    text_ += spelling;
    return {};
  }

  Status writeNumber(const WireAttr& a) {
    std::optional<DType> dtype = dtypeOf(wire_, a.type);
    bool is_index = wire_.types[a.type].kind == TypeKind::Index;
    if (!dtype && !is_index) return unimplemented("a number of type ", typeText(wire_, a.type));
    if (dtype == DType::pred) {
      text_ += a.bits ? "true" : "false";
      return {};
    }
    bool is_float = a.kind == AttrKind::Float && dtype && isFloat(*dtype);
    text_ += is_float                            ? floatText(a.bits, *dtype)
             : wire_.types[a.type].is_unsigned ? cat(a.bits)
                                               : cat(static_cast<int64_t>(a.bits));
    text_ += cat(" : ", is_index ? std::string_view("index") : dtypeName(*dtype));
    return {};
  }

  Status writeElements(uint32_t index) {
    std::optional<Elements> e = elementsOf(wire_, index);
    std::optional<DType> dtype = e ? dtypeOf(wire_, e->type) : std::nullopt;
    if (!dtype || isComplex(*dtype) || e->count > kMaxListedElements)
      return unimplemented("an attribute that is a large or complex array");
    TERCEL_TRY(budget_.spend(24 * e->count));
    text_ += cat(dtypeName(*dtype), '[', e->count, "](");
    for (uint64_t i = 0; i < e->count; ++i) {
      int64_t element = elementAt(*e, i);
      text_ += i ? ", " : "";
      text_ += isFloat(*dtype) ? floatText(static_cast<uint64_t>(element), *dtype) : cat(element);
    }
    text_ += ')';
    return {};
  }

  Status writeList(std::span<const uint32_t> list, const char* open, const char* close, int depth) {
    text_ += open;
    for (size_t i = 0; i < list.size(); ++i) {
      if (i > 0) text_ += ", ";
      TERCEL_TRY(write(list[i], depth + 1));
    }
    text_ += close;
    return {};
  }

  Status writeDictionary(const WireAttr& a, int depth) {
    std::span<const uint32_t> entries = items(a);
    text_ += '{';
    for (size_t i = 0; i + 1 < entries.size(); i += 2) {
      std::string_view name = textOf(wire_, entries[i]).value_or("");
      TERCEL_TRY(budget_.spend(name.size()));
      text_ += cat(i > 0 ? ", " : "", nameText(name), " = ");
      TERCEL_TRY(write(entries[i + 1], depth + 1));
    }
    text_ += '}';
    return {};
  }

  // Items: the mesh, then up to three counted lists: dimensions, replicated and unreduced axes.
  Status writeSharding(const WireAttr& a, int depth) {
    constexpr const char* kHeads[] = {", [", ", replicated={", ", unreduced={"};
    constexpr const char* kEnds[] = {"]", "}", "}"};
    std::span<const uint32_t> rest = items(a);
    text_ += '<';
    TERCEL_TRY(write(rest[0], depth + 1));
    rest = rest.subspan(1);
    for (int part = 0; part < 3 && !rest.empty(); ++part) {
      std::span<const uint32_t> list = rest.subspan(1, rest[0]);
      rest = rest.subspan(1 + list.size());
      if (part == 0 || !list.empty()) TERCEL_TRY(writeList(list, kHeads[part], kEnds[part], depth));
    }
    text_ += '>';
    return {};
  }

  Status writeDimSharding(const WireAttr& a, int depth) {
    bool is_closed = a.bits != 0;
    std::span<const uint32_t> axes = items(a);
    const char* open_end = axes.empty() ? "?}" : ", ?}";
    TERCEL_TRY(writeList(axes, "{", is_closed ? "}" : open_end, depth));
    int64_t priority = wire_.intsOf(a.ints)[0];
    if (priority >= 0) text_ += cat('p', priority);
    return {};
  }

  Status writeAxis(const WireAttr& a) {
    text_ += quoted(a.text);
    uint32_t sub_axis = items(a)[0];
    if (sub_axis == kNone) return {};
    const WireAttr& info = wire_.attrs[sub_axis];
    if (info.kind != AttrKind::SubAxisInfo) return invalidArgument("a sub-axis of another kind");
    std::span<const int64_t> ints = wire_.intsOf(info.ints);
    text_ += cat(":(", ints[0], ')', ints[1]);
    return {};
  }

  Status writeMesh(const WireAttr& a) {
    text_ += "mesh<[";
    std::span<const uint32_t> axes = items(a);
    for (size_t i = 0; i < axes.size(); ++i) {
      const WireAttr& axis = wire_.attrs[axes[i]];
      if (axis.kind != AttrKind::SdyMeshAxis) return invalidArgument("a mesh axis of another kind");
      TERCEL_TRY(budget_.spend(axis.text.size() + 32));
      text_ += cat(i ? ", " : "", quoted(axis.text), '=', wire_.intsOf(axis.ints)[0]);
    }
    text_ += ']';
    std::span<const int64_t> devices = wire_.intsOf(a.ints).subspan(1);
    TERCEL_TRY(budget_.spend(24 * devices.size()));
    for (size_t i = 0; i < devices.size(); ++i)
      text_ += cat(i ? ", " : ", device_ids=[", devices[i], i + 1 == devices.size() ? "]" : "");
    text_ += '>';
    return {};
  }

  const WireModule& wire_;
  Budget& budget_;
  std::string& text_;
};

}  // namespace

Status attrText(const WireModule& wire, uint32_t attr, Budget& budget, std::string* text) {
  return Writer(wire, budget, *text).write(attr, 0);
}

}  // namespace tercel::stablehlo
