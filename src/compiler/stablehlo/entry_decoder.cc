#include "compiler/stablehlo/entry_decoder.h"

namespace tercel::stablehlo {
namespace {

uint64_t signExtended(uint64_t value, unsigned bits, bool is_unsigned) {
  if (bits == 0 || bits >= 64) return value;
  uint64_t mask = (uint64_t{1} << bits) - 1;
  value &= mask;
  bool negative = !is_unsigned && bits > 1 && ((value >> (bits - 1)) & 1);
  return negative ? value | ~mask : value;
}

// Fills a node from its bytes, field by field. `Node` is WireAttr or WireType.
template <class Node>
class FieldReader {
 public:
  FieldReader(ByteCursor& cursor, WireModule& wire, Node& node)
      : cursor_(cursor), wire_(wire), node_(node) {}

  void read(const char* fields) {
    node_.items.begin = static_cast<uint32_t>(wire_.items.size());
    node_.ints.begin = static_cast<uint32_t>(wire_.ints.size());
    for (; *fields != 0; ++fields) readField(*fields);
    node_.items.count = static_cast<uint32_t>(wire_.items.size()) - node_.items.begin;
    node_.ints.count = static_cast<uint32_t>(wire_.ints.size()) - node_.ints.begin;
  }

 private:
  void readField(char field) {
    bool flag = false;
    switch (field) {
      case 'V': return pushInt(static_cast<int64_t>(cursor_.varint()));
      case 's': return pushInt(cursor_.svarint());
      case 'F': return pushInt(cursor_.svarint());
      case 'L':
      case 'U':
      case 'G': return readInts(field);
      case 'P': {
        uint64_t value = cursor_.varintWithFlag(&flag);
        return pushInt(flag ? static_cast<int64_t>(value) : -1);
      }
      case 'a': return readAttr();
      case 'A':
      case 'C': return readAttrs(field == 'C');
      case 'D': return readPairs();
      case 'o': {
        uint64_t index = cursor_.varintWithFlag(&flag);
        return pushItem(flag ? cursor_.below(index, wire_.attrs.size(), "attribute") : kNone);
      }
      case 'x': return cursor_.varint() != 0 ? readAttr() : pushItem(kNone);
      case 't': node_.type = cursor_.index(wire_.types.size(), "type"); return;
      case 'T': return readTypes();
      default: return readAttrField(field);
    }
  }

  // Those that only attributes have.
  void readAttrField(char field) {
    if constexpr (std::is_same_v<Node, WireAttr>) {
      switch (field) {
        case 'v': node_.bits = cursor_.varint(); return;
        case 'b': node_.bits = cursor_.byte(); return;
        case 'i':
        case 'f': return readNumber();
        case 'S': return readString();
        case 'B': node_.text = asText(cursor_.bytes(cursor_.varint())); return;
      }
    }
    TERCEL_CHECK(false, "wire.def has an unknown field ", field);
  }

  void pushInt(int64_t value) { wire_.ints.push_back(value); }
  void pushItem(uint32_t item) { wire_.items.push_back(item); }
  void readAttr() { pushItem(cursor_.index(wire_.attrs.size(), "attribute")); }

  void readInts(char field) {
    uint32_t n = cursor_.count("list length");
    pushInt(n);
    for (uint32_t i = 0; i < n; ++i)
      pushInt(field == 'U' ? static_cast<int64_t>(cursor_.varint()) : cursor_.svarint());
  }
  void readAttrs(bool counted) {
    uint32_t n = cursor_.count("list length");
    if (counted) pushItem(n);
    for (uint32_t i = 0; i < n; ++i) readAttr();
  }
  void readPairs() {
    uint32_t n = cursor_.count("dictionary size");
    for (uint32_t i = 0; i < n && cursor_.ok(); ++i) {
      readAttr();
      readAttr();
    }
  }
  void readTypes() {
    uint32_t n = cursor_.count("list length");
    pushItem(n);
    for (uint32_t i = 0; i < n; ++i) pushItem(cursor_.index(wire_.types.size(), "type"));
  }

  void readString() {
    uint32_t index = cursor_.index(wire_.strings.size(), "string");
    if (cursor_.ok()) node_.text = wire_.strings[index];
  }

  // Up to 8 bits: a byte. Up to 64: a signed varint. How long a number of another type is we do not
  // know: the node stays without meaning, which matters only to whoever uses it.
  void readNumber() {
    if (!cursor_.ok()) return;
    const WireType& type = wire_.types[node_.type];
    if (type.bits > 64 || type.bits == 0) {
      node_.kind = AttrKind::Unknown;
      node_.text = kindName(type.kind);
      cursor_.bytes(cursor_.remaining());
      return;
    }
    uint64_t raw = type.bits <= 8 ? cursor_.byte() : static_cast<uint64_t>(cursor_.svarint());
    node_.bits = signExtended(raw, type.bits, type.is_unsigned);
  }

  ByteCursor& cursor_;
  WireModule& wire_;
  Node& node_;
};

bool isUnsignedKind(TypeKind kind) {
  return kind == TypeKind::Bool || (kind >= TypeKind::U2 && kind <= TypeKind::U64);
}

void finishType(const WireModule& wire, WireType& type) {
  type.is_unsigned = isUnsignedKind(type.kind);
  if (type.kind != TypeKind::Integer || type.ints.count == 0) return;
  uint64_t width_and_sign = static_cast<uint64_t>(wire.intsOf(type.ints)[0]);
  uint64_t width = width_and_sign >> 2;
  type.bits = width <= 128 ? static_cast<uint16_t>(width) : 0;
  type.is_unsigned = (width_and_sign & 3) == 2 || width == 1;
}

template <class Node>
void decode(const WireEntry& entry, ByteCursor& cursor, WireModule& wire, Node& node) {
  using Kind = decltype(node.kind);
  if (entry.is_text) {
    node.kind = Kind::Text;
    node.text = cursor.nulTerminated();
    return;
  }
  node.text = entry.dialect;
  std::optional<Dialect> dialect = dialectFromName(entry.dialect);
  if (!dialect) return;
  uint64_t code = cursor.varint();
  node.code = static_cast<uint32_t>(code);
  const WireRow<Kind>* row;
  if constexpr (std::is_same_v<Node, WireAttr>)
    row = attrRow(*dialect, code);
  else
    row = typeRow(*dialect, code);
  if (row == nullptr) return;
  node.kind = row->kind;
  node.text = {};
  if constexpr (std::is_same_v<Node, WireType>) node.bits = row->bits;
  FieldReader<Node>(cursor, wire, node).read(row->fields);
  if (cursor.ok() && !cursor.atEnd())
    cursor.fail(cat("bytes left over after a ", kindName(row->kind)));
}

}  // namespace

void decodeType(const WireEntry& entry, ByteCursor cursor, WireModule& wire, WireType& type) {
  decode(entry, cursor, wire, type);
  finishType(wire, type);
}

void decodeAttr(const WireEntry& entry, ByteCursor cursor, WireModule& wire, WireAttr& attr) {
  decode(entry, cursor, wire, attr);
}

}  // namespace tercel::stablehlo
