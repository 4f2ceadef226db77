#include <elf.h>

#include <cstring>

#include "runtime/engine/elf_machine.h"

namespace tercel::engine {
namespace {

Reference reference(uint32_t type) {
  switch (type) {
    case R_X86_64_NONE: return Reference::nothing;
    case R_X86_64_64: case R_X86_64_PC64: case R_X86_64_32: case R_X86_64_32S: case R_X86_64_PC32:
      return Reference::address;
    case R_X86_64_PLT32: return Reference::code;
    case R_X86_64_GOTPCREL: case R_X86_64_GOTPCRELX: case R_X86_64_REX_GOTPCRELX:
      return Reference::slot;
    default: return Reference::unknown;
  }
}

size_t bytes(uint32_t type) { return type == R_X86_64_64 || type == R_X86_64_PC64 ? 8 : 4; }

Status apply(uint32_t type, std::byte* at, uint64_t value, uint64_t place) {
  const bool is_absolute = type == R_X86_64_64 || type == R_X86_64_32 || type == R_X86_64_32S;
  if (!is_absolute) value -= place;
  const auto narrow = static_cast<uint32_t>(value);
  if (bytes(type) == 4) {
    const uint64_t read = type == R_X86_64_32
                              ? narrow
                              : static_cast<uint64_t>(int64_t{static_cast<int32_t>(narrow)});
    if (read != value) return relocationOutOfRange(type);
  }
  std::memcpy(at, &value, bytes(type));
  return {};
}

}  // namespace

// jmp *2(%rip), two bytes that are not run. Displacements have 32 bits.
const ElfMachine kElfX86 = {EM_X86_64, size_t{1} << 30, {0xff, 0x25, 2, 0, 0, 0, 0xcc, 0xcc},
                            reference, bytes, apply};

}  // namespace tercel::engine
