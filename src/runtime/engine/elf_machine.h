// How the object code of an architecture refers to symbols.
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>

#include "core/architecture.h"
#include "core/status.h"

namespace tercel::engine {

// What a relocation wants to know of its symbol.
enum class Reference : uint8_t {
  unknown,  // a type that compiled kernels have no use for
  nothing,
  address,
  code,  // an address to jump to, which may be that of a jump to it
  slot,  // where its address is stored
};

struct ElfMachine {
  uint16_t number;  // e_machine
  size_t reach;     // between any two places of so much code and data, references are in range
  std::array<uint8_t, 8> jump;  // to the address that the next eight bytes have
  Reference (*reference)(uint32_t type);
  size_t (*bytes)(uint32_t type);  // that it changes
  // Writes `value`, which is what `reference` asks for plus the addend, at `at`, whose address is
  // `place`. OUT_OF_RANGE where it does not fit.
  Status (*apply)(uint32_t type, std::byte* at, uint64_t value, uint64_t place);
};

extern const ElfMachine kElfX86;
extern const ElfMachine kElfArm;

inline const ElfMachine& elfMachine(Architecture architecture) {
  return architecture == Architecture::aarch64 ? kElfArm : kElfX86;
}

inline Status relocationOutOfRange(uint32_t type) {
  return Status(Code::out_of_range, cat("a relocation of type ", type, " is out of range"));
}

}  // namespace tercel::engine
