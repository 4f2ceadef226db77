#include "runtime/engine/code_names.h"

#include <elf.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <mutex>
#include <vector>

#include "core/log.h"
#include "runtime/engine/elf_machine.h"

// gdb's JIT interface: it finds these two by name and stops in the function.
extern "C" {
struct jit_code_entry {
  jit_code_entry *next_entry, *prev_entry;
  const char* symfile_addr;
  uint64_t symfile_size;
};
struct jit_descriptor {
  uint32_t version, action_flag;
  jit_code_entry *relevant_entry, *first_entry;
};
[[gnu::noinline, gnu::used]] void __jit_debug_register_code() { asm volatile("" ::: "memory"); }
[[gnu::used]] jit_descriptor __jit_debug_descriptor = {1, 0, nullptr, nullptr};
}

namespace tercel::engine {
namespace {

struct Named {
  uint64_t address, size;
  std::string_view name;
};

std::vector<Named> namesOf(const LoadedCode& code) {
  std::vector<Named> names;
  for (const auto& [name, address] : code.symbols()) {
    names.push_back({reinterpret_cast<uint64_t>(address), 0, name});
  }
  std::sort(names.begin(), names.end(),
            [](const Named& a, const Named& b) { return a.address < b.address; });
  uint64_t end = reinterpret_cast<uint64_t>(code.mapping().data() + code.mapping().size());
  for (size_t i = names.size(); i-- > 0;) {
    names[i].size = end - names[i].address;
    end = names[i].address;
  }
  return names;
}

void writePerfMap(const std::vector<Named>& names) {
  std::string path = cat("/tmp/perf-", getpid(), ".map");
  std::FILE* file = std::fopen(path.c_str(), "a");
  if (!file) {
    TERCEL_LOG(warning, "cannot write ", path);
    return;
  }
  for (const Named& n : names) {
    std::fprintf(file, "%lx %lx %.*s\n", static_cast<unsigned long>(n.address),
                 static_cast<unsigned long>(n.size), static_cast<int>(n.name.size()),
                 n.name.data());
  }
  std::fclose(file);
}

template <class T>
void append(std::string& bytes, const T& value) {
  bytes.append(reinterpret_cast<const char*>(&value), sizeof value);
}

// An ELF file of nothing but symbols: a section where the code is, their table, and the names.
std::string symbolFile(const LoadedCode& code, const std::vector<Named>& names) {
  constexpr char kSections[] = "\0.text\0.symtab\0.strtab";
  std::vector<Elf64_Sym> symbols(1);
  std::string strings(kSections, sizeof kSections);
  for (const Named& n : names) {
    symbols.push_back({static_cast<Elf64_Word>(strings.size()),
                       ELF64_ST_INFO(STB_GLOBAL, STT_FUNC), STV_DEFAULT, 1, n.address, n.size});
    strings.append(n.name).push_back('\0');
  }
  uint64_t table = sizeof(Elf64_Ehdr), table_bytes = symbols.size() * sizeof(Elf64_Sym);
  uint64_t text = reinterpret_cast<uint64_t>(code.mapping().data());
  Elf64_Shdr sections[4] = {};
  sections[1] = {1, SHT_NOBITS, SHF_ALLOC | SHF_EXECINSTR, text, 0, code.mapping().size(),
                 0, 0, 16, 0};
  sections[2] = {7, SHT_SYMTAB, 0, 0, table, table_bytes, 3, 1, 8, sizeof(Elf64_Sym)};
  sections[3] = {15, SHT_STRTAB, 0, 0, table + table_bytes, strings.size(), 0, 0, 1, 0};
  Elf64_Ehdr header = {};
  std::memcpy(header.e_ident, ELFMAG, SELFMAG);
  header.e_ident[EI_CLASS] = ELFCLASS64;
  header.e_ident[EI_DATA] = ELFDATA2LSB;
  header.e_ident[EI_VERSION] = EV_CURRENT;
  header.e_type = ET_EXEC;
  header.e_machine = elfMachine(kHostArchitecture).number;
  header.e_version = EV_CURRENT;
  header.e_ehsize = sizeof header;
  header.e_shoff = table + table_bytes + strings.size();
  header.e_shentsize = sizeof(Elf64_Shdr);
  header.e_shnum = 4;
  header.e_shstrndx = 3;
  std::string bytes;
  append(bytes, header);
  for (const Elf64_Sym& symbol : symbols) append(bytes, symbol);
  bytes += strings;
  for (const Elf64_Shdr& section : sections) append(bytes, section);
  return bytes;
}

// What gdb was told of must stay.
void registerWithGdb(const LoadedCode& code, const std::vector<Named>& names) {
  auto* file = new std::string(symbolFile(code, names));
  auto* entry = new jit_code_entry{__jit_debug_descriptor.first_entry, nullptr, file->data(),
                                   file->size()};
  if (entry->next_entry) entry->next_entry->prev_entry = entry;
  __jit_debug_descriptor.relevant_entry = __jit_debug_descriptor.first_entry = entry;
  __jit_debug_descriptor.action_flag = 1;
  __jit_debug_register_code();
}

}  // namespace

void announceCode(const LoadedCode& code) {
  static std::mutex one_at_a_time;
  std::lock_guard lock(one_at_a_time);
  std::vector<Named> names = namesOf(code);
  if (names.empty()) return;
  writePerfMap(names);
  registerWithGdb(code, names);
}

}  // namespace tercel::engine
