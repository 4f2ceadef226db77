#include "runtime/engine/elf_object.h"

#include <cstring>

#include "runtime/engine/elf_machine.h"

namespace tercel::engine {
namespace {

template <class T>
T readAt(std::span<const std::byte> bytes, size_t offset) {
  T value;
  std::memcpy(&value, bytes.data() + offset, sizeof(T));
  return value;
}

template <class... Args>
Status malformed(const Args&... args) {
  return invalidArgument("malformed object code: ", args...);
}

// The zero-terminated text at `offset`.
Result<std::string_view> textAt(std::span<const std::byte> table, size_t offset) {
  if (offset >= table.size()) return malformed("a name lies outside its table");
  const char* text = reinterpret_cast<const char*>(table.data()) + offset;
  const void* end = std::memchr(text, 0, table.size() - offset);
  if (!end) return malformed("a name does not end");
  return std::string_view(text, static_cast<size_t>(static_cast<const char*>(end) - text));
}

class Parser {
 public:
  Parser(std::span<const std::byte> bytes, Architecture architecture)
      : architecture_(architecture) {
    object_.bytes = bytes;
  }

  Result<ElfObject> parse() {
    TERCEL_TRY(readHeader());
    for (const Elf64_Shdr& section : object_.sections) {
      if (section.sh_type == SHT_SYMTAB) TERCEL_TRY(readSymbols(section));
      if (section.sh_type == SHT_REL && isLoaded(section.sh_info))
        return malformed("relocations without addends");
    }
    for (const Elf64_Shdr& section : object_.sections)
      if (section.sh_type == SHT_RELA) TERCEL_TRY(readRelocations(section));
    return std::move(object_);
  }

 private:
  bool isLoaded(uint32_t section) const {
    return section < object_.sections.size() && object_.isLoaded(section);
  }

  Status readHeader() {
    std::span<const std::byte> bytes = object_.bytes;
    if (bytes.size() < sizeof(Elf64_Ehdr)) return malformed("too short");
    auto header = readAt<Elf64_Ehdr>(bytes, 0);
    if (std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 ||
        header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_ident[EI_DATA] != ELFDATA2LSB)
      return malformed("not a 64-bit ELF file");
    if (header.e_type != ET_REL || header.e_machine != elfMachine(architecture_).number)
      return malformed("not a relocatable ", toString(architecture_), " object");
    if (header.e_shentsize != sizeof(Elf64_Shdr)) return malformed("section header size");
    size_t count = header.e_shnum;
    if (header.e_shoff > bytes.size() ||
        count > (bytes.size() - header.e_shoff) / sizeof(Elf64_Shdr))
      return malformed("section headers lie outside the file");
    for (size_t i = 0; i < count; ++i) {
      auto section = readAt<Elf64_Shdr>(bytes, header.e_shoff + i * sizeof(Elf64_Shdr));
      if (section.sh_type == SHT_NULL) section = {};
      TERCEL_TRY(checkSection(section));
      object_.sections.push_back(section);
    }
    return {};
  }

  Status checkSection(const Elf64_Shdr& section) const {
    size_t size = object_.bytes.size();
    if (section.sh_type != SHT_NOBITS &&
        (section.sh_offset > size || section.sh_size > size - section.sh_offset))
      return malformed("a section lies outside the file");
    if (section.sh_addralign > 4096 || (section.sh_addralign & (section.sh_addralign - 1)))
      return malformed("section alignment ", section.sh_addralign);
    return {};
  }

  Status readSymbols(const Elf64_Shdr& table) {
    if (!object_.symbols.empty()) return malformed("two symbol tables");
    if (table.sh_link >= object_.sections.size() ||
        object_.sections[table.sh_link].sh_type != SHT_STRTAB)
      return malformed("symbols without names");
    std::span<const std::byte> names = object_.contents(object_.sections[table.sh_link]);
    std::span<const std::byte> entries = object_.contents(table);
    for (size_t at = 0; at + sizeof(Elf64_Sym) <= entries.size(); at += sizeof(Elf64_Sym)) {
      auto entry = readAt<Elf64_Sym>(entries, at);
      ElfSymbol symbol{.binding = static_cast<uint8_t>(ELF64_ST_BIND(entry.st_info)),
                       .section = entry.st_shndx,
                       .value = entry.st_value};
      TERCEL_ASSIGN(symbol.name, textAt(names, entry.st_name));
      TERCEL_TRY(checkSymbol(symbol));
      object_.symbols.push_back(symbol);
    }
    return {};
  }

  Status checkSymbol(const ElfSymbol& symbol) const {
    if (symbol.section == SHN_UNDEF || symbol.section == SHN_ABS) return {};
    if (symbol.section >= object_.sections.size())
      return malformed("symbol ", symbol.name, " in section ", symbol.section);
    if (symbol.value > object_.sections[symbol.section].sh_size)
      return malformed("symbol ", symbol.name, " lies outside its section");
    return {};
  }

  Status readRelocations(const Elf64_Shdr& table) {
    if (table.sh_info >= object_.sections.size()) return malformed("relocations of no section");
    if (!isLoaded(table.sh_info)) return {};
    const Elf64_Shdr& target = object_.sections[table.sh_info];
    if (target.sh_type == SHT_NOBITS) return malformed("relocations of zeros");
    ElfRelocations relocations{table.sh_info, object_.contents(table)};
    for (size_t i = 0; i < relocations.count(); ++i) {
      Elf64_Rela entry = relocations[i];
      if (ELF64_R_SYM(entry.r_info) >= object_.symbols.size())
        return malformed("a relocation names no symbol");
      if (entry.r_offset > target.sh_size) return malformed("a relocation outside its section");
    }
    object_.relocations.push_back(relocations);
    return {};
  }

  Architecture architecture_;
  ElfObject object_;
};

}  // namespace

Elf64_Rela ElfRelocations::operator[](size_t i) const {
  return readAt<Elf64_Rela>(bytes, i * sizeof(Elf64_Rela));
}

Result<ElfObject> parseElfObject(std::span<const std::byte> bytes, Architecture architecture) {
  return Parser(bytes, architecture).parse();
}

}  // namespace tercel::engine
