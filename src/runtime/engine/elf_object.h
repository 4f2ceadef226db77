// A checked view of one relocatable ELF object.
#pragma once
#include <elf.h>

#include <cstddef>
#include <span>
#include <string_view>
#include <vector>

#include "core/architecture.h"
#include "core/status.h"

namespace tercel::engine {

struct ElfSymbol {
  std::string_view name;
  uint8_t binding = STB_LOCAL;
  uint16_t section = SHN_UNDEF;  // SHN_UNDEF, SHN_ABS, or a section of the object
  uint64_t value = 0;
};

// Relocations of section `target`.
struct ElfRelocations {
  uint32_t target = 0;
  std::span<const std::byte> bytes;
  size_t count() const { return bytes.size() / sizeof(Elf64_Rela); }
  Elf64_Rela operator[](size_t i) const;
};

// Everything in it lies within `bytes`, which must outlive it.
struct ElfObject {
  std::span<const std::byte> bytes;
  std::vector<Elf64_Shdr> sections;
  std::vector<ElfSymbol> symbols;
  std::vector<ElfRelocations> relocations;

  bool isLoaded(uint32_t section) const { return sections[section].sh_flags & SHF_ALLOC; }
  std::span<const std::byte> contents(const Elf64_Shdr& section) const {
    return section.sh_type == SHT_NOBITS ? std::span<const std::byte>{}
                                         : bytes.subspan(section.sh_offset, section.sh_size);
  }
};

Result<ElfObject> parseElfObject(std::span<const std::byte> bytes, Architecture architecture);

}  // namespace tercel::engine
