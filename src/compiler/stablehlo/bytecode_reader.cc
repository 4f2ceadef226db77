#include "compiler/stablehlo/bytecode_reader.h"

#include <algorithm>
#include <array>
#include <optional>

#include "compiler/stablehlo/bytecode_magic.h"
#include "compiler/stablehlo/entry_decoder.h"

namespace tercel::stablehlo {
namespace {

enum SectionId : uint8_t {
  kStrings,
  kDialects,
  kEntries,
  kEntryOffsets,
  kIr,
  kResources,
  kResourceOffsets,
  kDialectVersions,
  kProperties,
  kSectionCount,
};
static_assert(kIr == kIrSection);

// Bytecode versions at which the encoding changed.
constexpr uint64_t kDialectVersionsSince = 1;
constexpr uint64_t kOpCountSince = 4;
constexpr uint64_t kPropertiesSince = 5;

class TableReader {
 public:
  TableReader(Bytes artifact, WireModule& wire, ErrorSink& sink)
      : file_(artifact, artifact.data(), sink), wire_(wire) {}

  void read() {
    readHeader();
    if (ok()) readSections();
    if (ok()) readStrings();
    if (ok()) readDialects();
    if (ok()) readEntryTable();
    if (ok()) decodeEntries();
    if (ok()) readProperties();
    if (ok()) readOps(section(kIr), properties_, wire_);
  }

 private:
  bool ok() const { return file_.ok(); }
  ByteCursor section(SectionId id) const {
    return file_.over(sections_[id].value_or(Bytes(file_.bytesLeft().data(), 0)));
  }

  void readHeader() {
    wire_.origin = file_.bytesLeft().data();
    if (asText(file_.bytes(kBytecodeMagic.size())) != kBytecodeMagic)
      return file_.fail("not MLIR bytecode");
    wire_.version = file_.varint();
    if (wire_.version > kNewestBytecode)
      return file_.refuse(cat("MLIR bytecode version ", wire_.version, " (newest known: ",
                              kNewestBytecode, ")"));
    wire_.producer = file_.nulTerminated();
  }

  void readSections() {
    while (!file_.atEnd()) {
      Section s = readSection(file_);
      if (!ok()) return;
      if (s.id >= kSectionCount) return file_.fail(cat("unknown section ", int{s.id}));
      if (sections_[s.id]) return file_.fail(cat("section ", int{s.id}, " occurs twice"));
      sections_[s.id] = s.bytes;
    }
    for (SectionId id : {kStrings, kDialects, kEntries, kEntryOffsets, kIr})
      if (!sections_[id]) return file_.fail(cat("section ", int{id}, " is missing"));
  }

  // Sizes come last string first; the characters, each with a final NUL, end the section.
  void readStrings() {
    ByteCursor cursor = section(kStrings);
    Bytes all = *sections_[kStrings];
    size_t end = all.size();
    wire_.strings.resize(cursor.count("number of strings"));
    for (size_t i = wire_.strings.size(); i-- > 0;) {
      uint64_t size = cursor.varint();
      if (size == 0 || size > end) return cursor.fail("a string's size is out of range");
      end -= size;
      wire_.strings[i] = asText(all.subspan(end, size - 1));
    }
    if (cursor.ok() && all.size() - cursor.remaining() != end)
      cursor.fail("bytes between the sizes of the strings and the strings");
  }

  std::string_view stringAt(ByteCursor& cursor, uint64_t index) {
    uint32_t i = cursor.below(index, wire_.strings.size(), "string");
    return ok() ? wire_.strings[i] : std::string_view();
  }

  void readDialects() {
    ByteCursor cursor = section(kDialects);
    wire_.dialects.resize(cursor.count("number of dialects"));
    for (std::string_view& dialect : wire_.dialects) {
      bool has_version = false;
      uint64_t name = wire_.version < kDialectVersionsSince ? cursor.varint()
                                                            : cursor.varintWithFlag(&has_version);
      dialect = stringAt(cursor, name);
      if (has_version && readSection(cursor).id != kDialectVersions && ok())
        cursor.fail("a dialect's version is no version section");
    }
    if (wire_.version >= kOpCountSince) wire_.op_names.reserve(cursor.count("number of op names"));
    while (!cursor.atEnd()) readOpNames(cursor);
  }

  void readOpNames(ByteCursor& cursor) {
    uint32_t dialect = cursor.index(wire_.dialects.size(), "dialect");
    uint32_t n = cursor.count("number of op names");
    for (uint32_t i = 0; i < n && ok(); ++i) {
      bool registered = true;
      uint64_t name = wire_.version < kPropertiesSince ? cursor.varint()
                                                       : cursor.varintWithFlag(&registered);
      wire_.op_names.push_back({wire_.dialects[dialect], stringAt(cursor, name)});
    }
  }

  // Attributes, then types; each group names its dialect, each entry its size.
  void readEntryTable() {
    ByteCursor cursor = section(kEntryOffsets);
    uint32_t attrs = cursor.count("number of attributes");
    uint32_t types = cursor.count("number of types");
    wire_.attrs.resize(attrs);
    wire_.types.resize(types);
    entries_.resize(size_t{attrs} + types);
    ByteCursor data = section(kEntries);
    // A group does not cross from the attributes to the types.
    readEntryGroups(cursor, data, 0, attrs);
    readEntryGroups(cursor, data, attrs, entries_.size());
    if (ok() && !cursor.atEnd()) cursor.fail("bytes left over after the last entry's size");
  }

  void readEntryGroups(ByteCursor& cursor, ByteCursor& data, size_t begin, size_t end) {
    for (size_t i = begin; i < end && ok();) {
      uint32_t dialect = cursor.index(wire_.dialects.size(), "dialect");
      uint32_t n = cursor.count("number of entries");
      if (n > end - i) return cursor.fail("a group has more entries than there are");
      for (uint32_t k = 0; k < n && ok(); ++k, ++i) {
        bool is_binary = false;
        uint64_t size = cursor.varintWithFlag(&is_binary);
        if (size > data.remaining()) return cursor.fail("an entry reaches past its section");
        entries_[i] = {data.bytes(size), wire_.dialects[dialect], !is_binary};
      }
    }
  }

  void decodeEntries() {
    size_t attrs = wire_.attrs.size();
    for (size_t i = 0; i < wire_.types.size() && ok(); ++i) {
      const WireEntry& entry = entries_[attrs + i];
      decodeType(entry, file_.over(entry.bytes), wire_, wire_.types[i]);
    }
    for (size_t i = 0; i < attrs && ok(); ++i)
      decodeAttr(entries_[i], file_.over(entries_[i].bytes), wire_, wire_.attrs[i]);
    // Ranges of items and ints, and the ops, which take a byte and more each, have 32-bit indices.
    size_t largest = std::max({wire_.items.size(), wire_.ints.size(), sections_[kIr]->size()});
    if (ok() && largest >= kMaxIndex) file_.refuse(cat("a program of ", largest, " parts"));
  }

  void readProperties() {
    if (!sections_[kProperties] || sections_[kProperties]->empty()) return;
    ByteCursor cursor = section(kProperties);
    properties_.resize(cursor.count("number of properties"));
    for (Bytes& blob : properties_) blob = cursor.bytes(cursor.varint());
    if (ok() && !cursor.atEnd()) cursor.fail("bytes left over after the properties");
  }

  ByteCursor file_;
  WireModule& wire_;
  std::array<std::optional<Bytes>, kSectionCount> sections_;
  std::vector<WireEntry> entries_;
  std::vector<Bytes> properties_;
};

}  // namespace

Section readSection(ByteCursor& cursor) {
  uint8_t head = cursor.byte();
  uint64_t size = cursor.varint();
  if (head & 0x80) cursor.alignTo(cursor.varint());
  return {static_cast<uint8_t>(head & 0x7f), cursor.bytes(size)};
}

Status readBytecode(Bytes artifact, WireModule& wire) {
  ErrorSink sink;
  TableReader(artifact, wire, sink).read();
  return sink.status();
}

}  // namespace tercel::stablehlo
