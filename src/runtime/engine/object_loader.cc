#include "runtime/engine/object_loader.h"

#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <cstring>
#include <map>
#include <utility>
#include <vector>

#include "runtime/engine/elf_machine.h"
#include "runtime/engine/elf_object.h"

namespace tercel::engine {
namespace {

const ElfMachine& kMachine = elfMachine(kHostArchitecture);
constexpr size_t kStubBytes = 16;

size_t pageBytes() {
  static const auto bytes = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  return bytes;
}

enum Region { code, constants, data, kRegions };

Region regionOf(const Elf64_Shdr& section) {
  if (section.sh_flags & SHF_EXECINSTR) return code;
  return section.sh_flags & SHF_WRITE ? data : constants;
}

size_t alignUp(size_t value, size_t align) { return (value + align - 1) / align * align; }

}  // namespace

class Linker {
 public:
  explicit Linker(std::span<const ExternalSymbol> externals) : externals_(externals) {}

  Result<LoadedCode> link(std::span<const ObjectBytes> objects) {
    for (ObjectBytes bytes : objects) {
      TERCEL_ASSIGN(ElfObject object, parseElfObject(bytes, kHostArchitecture));
      objects_.push_back({std::move(object)});
    }
    for (Placed& placed : objects_) TERCEL_TRY(place(placed));
    TERCEL_TRY(map());
    for (const Placed& placed : objects_) TERCEL_TRY(define(placed));
    for (const Placed& placed : objects_) TERCEL_TRY(relocate(placed));
    TERCEL_TRY(protect());
    return std::move(code_);
  }

 private:
  struct Placed {
    ElfObject object;
    std::vector<size_t> offsets;  // of each loaded section, in its region
  };

  Status place(Placed& placed) {
    for (const Elf64_Shdr& section : placed.object.sections) {
      placed.offsets.push_back(0);
      if (!(section.sh_flags & SHF_ALLOC)) continue;
      if (section.sh_flags & SHF_TLS) return unimplemented("thread-local data in object code");
      size_t& used = region_bytes_[regionOf(section)];
      used = alignUp(used, std::max<size_t>(section.sh_addralign, 1));
      placed.offsets.back() = used;
      if (section.sh_size > kMachine.reach || used + section.sh_size > kMachine.reach)
        return resourceExhausted("object code larger than ", kMachine.reach, " bytes");
      used += section.sh_size;
    }
    countIndirections(placed.object);
    return {};
  }

  // Room for one stub and one address for each symbol that may need them.
  void countIndirections(const ElfObject& object) {
    for (const ElfSymbol& symbol : object.symbols)
      if (symbol.section == SHN_UNDEF || symbol.section == SHN_ABS) ++stubs_;
    for (const ElfRelocations& relocations : object.relocations)
      for (size_t i = 0; i < relocations.count(); ++i)
        if (referenceOf(relocations[i]) == Reference::slot) ++addresses_;
  }

  static Reference referenceOf(const Elf64_Rela& entry) {
    return kMachine.reference(ELF64_R_TYPE(entry.r_info));
  }

  Status map() {
    stub_at_ = alignUp(region_bytes_[code], kStubBytes);
    region_bytes_[code] = stub_at_ + stubs_ * kStubBytes;
    address_at_ = alignUp(region_bytes_[constants], 8);
    region_bytes_[constants] = address_at_ + addresses_ * 8;
    size_t total = 0;
    for (int region = 0; region < kRegions; ++region) {
      region_at_[region] = total;
      total += alignUp(region_bytes_[region], pageBytes());
    }
    if (total > kMachine.reach)
      return resourceExhausted("object code larger than ", kMachine.reach, " bytes");
    if (total == 0) return {};
    void* base = mmap(nullptr, total, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (base == MAP_FAILED) return resourceExhausted("no memory for ", total, " bytes of code");
    code_.base_ = static_cast<std::byte*>(base);
    code_.size_ = total;
    stub_at_ += region_at_[code];
    address_at_ += region_at_[constants];
    for (const Placed& placed : objects_) copy(placed);
    return {};
  }

  void copy(const Placed& placed) {
    for (uint32_t i = 0; i < placed.object.sections.size(); ++i) {
      if (!placed.object.isLoaded(i)) continue;
      std::span<const std::byte> bytes = placed.object.contents(placed.object.sections[i]);
      if (!bytes.empty()) std::memcpy(sectionAt(placed, i), bytes.data(), bytes.size());
    }
  }

  std::byte* sectionAt(const Placed& placed, uint32_t section) const {
    Region region = regionOf(placed.object.sections[section]);
    return code_.base_ + region_at_[region] + placed.offsets[section];
  }

  Status define(const Placed& placed) {
    for (const ElfSymbol& symbol : placed.object.symbols) {
      if (symbol.binding == STB_LOCAL || symbol.section == SHN_UNDEF || symbol.section == SHN_ABS)
        continue;
      if (!placed.object.isLoaded(symbol.section)) continue;
      void* address = sectionAt(placed, symbol.section) + symbol.value;
      if (!code_.symbols_.emplace(symbol.name, address).second)
        return invalidArgument("object code defines ", symbol.name, " twice");
    }
    return {};
  }

  Result<uint64_t> addressOf(const Placed& placed, const ElfSymbol& symbol) const {
    if (symbol.section == SHN_ABS) return symbol.value;
    if (symbol.section != SHN_UNDEF) {
      if (!placed.object.isLoaded(symbol.section))
        return invalidArgument("object code refers to a section that is not loaded");
      return reinterpret_cast<uint64_t>(sectionAt(placed, symbol.section)) + symbol.value;
    }
    if (symbol.name.empty()) return uint64_t{0};
    if (void* defined = code_.find(symbol.name)) return reinterpret_cast<uint64_t>(defined);
    for (const ExternalSymbol& external : externals_)
      if (external.name == symbol.name) return reinterpret_cast<uint64_t>(external.address);
    return Status(Code::not_found, cat("object code needs the unknown function ", symbol.name));
  }

  Status relocate(const Placed& placed) {
    for (const ElfRelocations& relocations : placed.object.relocations) {
      uint64_t size = placed.object.sections[relocations.target].sh_size;
      std::byte* section = sectionAt(placed, relocations.target);
      for (size_t i = 0; i < relocations.count(); ++i) {
        Elf64_Rela entry = relocations[i];
        const ElfSymbol& symbol = placed.object.symbols[ELF64_R_SYM(entry.r_info)];
        TERCEL_ASSIGN(uint64_t target, addressOf(placed, symbol));
        TERCEL_TRY(apply(entry, section, size, target));
      }
    }
    return {};
  }

  Status apply(const Elf64_Rela& entry, std::byte* section, uint64_t size, uint64_t target) {
    const uint32_t type = ELF64_R_TYPE(entry.r_info);
    const Reference reference = referenceOf(entry);
    if (reference == Reference::nothing) return {};
    if (reference == Reference::unknown)
      return unimplemented("object code has a relocation of type ", type);
    if (entry.r_offset > size || size - entry.r_offset < kMachine.bytes(type))
      return invalidArgument("malformed object code: a relocation outside its section");
    if (reference == Reference::code) target = near(target);
    if (reference == Reference::slot) target = addressSlot(target);
    std::byte* at = section + entry.r_offset;
    return kMachine.apply(type, at, target + static_cast<uint64_t>(entry.r_addend),
                          reinterpret_cast<uint64_t>(at));
  }

  bool isMapped(uint64_t address) const {
    return address - reinterpret_cast<uint64_t>(code_.base_) <= code_.size_;
  }

  // `target` itself, or a jump to it that lies in the mapping.
  uint64_t near(uint64_t target) {
    if (isMapped(target)) return target;
    auto [found, is_new] = stub_of_.try_emplace(target, stub_at_);
    std::byte* stub = code_.base_ + found->second;
    if (is_new) {
      std::memcpy(stub, kMachine.jump.data(), kMachine.jump.size());
      std::memcpy(stub + kMachine.jump.size(), &target, 8);
      stub_at_ += kStubBytes;
    }
    return reinterpret_cast<uint64_t>(stub);
  }

  // Where the address of `target` is stored.
  uint64_t addressSlot(uint64_t target) {
    auto [found, is_new] = address_of_.try_emplace(target, address_at_);
    std::byte* slot = code_.base_ + found->second;
    if (is_new) {
      std::memcpy(slot, &target, 8);
      address_at_ += 8;
    }
    return reinterpret_cast<uint64_t>(slot);
  }

  Status protect() {
    constexpr int kAccess[] = {PROT_READ | PROT_EXEC, PROT_READ};
    auto* code_start = reinterpret_cast<char*>(code_.base_ + region_at_[code]);
    __builtin___clear_cache(code_start, code_start + region_bytes_[code]);
    for (int region : {code, constants}) {
      size_t bytes = alignUp(region_bytes_[region], pageBytes());
      if (bytes && mprotect(code_.base_ + region_at_[region], bytes, kAccess[region]) != 0)
        return resourceExhausted("cannot protect ", bytes, " bytes of code");
    }
    return {};
  }

  std::span<const ExternalSymbol> externals_;
  std::vector<Placed> objects_;
  LoadedCode code_;
  size_t region_bytes_[kRegions] = {}, region_at_[kRegions] = {};
  size_t stubs_ = 0, addresses_ = 0;        // how many there is room for
  size_t stub_at_ = 0, address_at_ = 0;     // offset of the next one
  std::map<uint64_t, size_t> stub_of_, address_of_;
};

std::span<const ExternalSymbol> codeSupportSymbols() {
  static const ExternalSymbol symbols[] = {
      {"memcpy", reinterpret_cast<const void*>(&std::memcpy)},
      {"memmove", reinterpret_cast<const void*>(&std::memmove)},
      {"memset", reinterpret_cast<const void*>(&std::memset)},
  };
  return symbols;
}

Result<LoadedCode> LoadedCode::load(std::span<const ObjectBytes> objects,
                                    std::span<const ExternalSymbol> externals) {
  return Linker(externals).link(objects);
}

LoadedCode::LoadedCode(LoadedCode&& other) noexcept { *this = std::move(other); }

LoadedCode& LoadedCode::operator=(LoadedCode&& other) noexcept {
  std::swap(base_, other.base_);
  std::swap(size_, other.size_);
  std::swap(symbols_, other.symbols_);
  return *this;
}

LoadedCode::~LoadedCode() {
  if (base_) munmap(base_, size_);
}

void* LoadedCode::find(std::string_view symbol) const {
  auto found = symbols_.find(symbol);
  return found == symbols_.end() ? nullptr : found->second;
}

}  // namespace tercel::engine
