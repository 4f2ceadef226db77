#include <elf.h>

#include <cstring>

#include "runtime/engine/elf_machine.h"

namespace tercel::engine {
namespace {

// The low bits of an address, as loads and stores of so many bytes have them; 0 for others.
int accessBytes(uint32_t type) {
  switch (type) {
    case R_AARCH64_LDST8_ABS_LO12_NC: return 1;
    case R_AARCH64_LDST16_ABS_LO12_NC: return 2;
    case R_AARCH64_LDST32_ABS_LO12_NC: return 4;
    case R_AARCH64_LDST64_ABS_LO12_NC: case R_AARCH64_LD64_GOT_LO12_NC: return 8;
    case R_AARCH64_LDST128_ABS_LO12_NC: return 16;
    default: return 0;
  }
}

Reference reference(uint32_t type) {
  if (type == R_AARCH64_LD64_GOT_LO12_NC) return Reference::slot;
  if (accessBytes(type)) return Reference::address;
  switch (type) {
    case R_AARCH64_NONE: return Reference::nothing;
    case R_AARCH64_ABS64: case R_AARCH64_PREL64: case R_AARCH64_PREL32:
    case R_AARCH64_ADR_PREL_PG_HI21: case R_AARCH64_ADD_ABS_LO12_NC:
      return Reference::address;
    case R_AARCH64_CALL26: case R_AARCH64_JUMP26: return Reference::code;
    case R_AARCH64_ADR_GOT_PAGE: return Reference::slot;
    default: return Reference::unknown;
  }
}

size_t bytes(uint32_t type) {
  return type == R_AARCH64_ABS64 || type == R_AARCH64_PREL64 ? 8 : 4;
}

bool fits(int64_t value, int bits) {
  return value >= -(int64_t{1} << (bits - 1)) && value < int64_t{1} << (bits - 1);
}

// `bits` of an instruction from bit `first` on.
void setField(uint32_t& word, uint64_t value, int bits, int first) {
  const uint32_t mask = ((1u << bits) - 1) << first;
  word = (word & ~mask) | ((static_cast<uint32_t>(value) << first) & mask);
}

Status setPage(uint32_t type, uint32_t& word, uint64_t value, uint64_t place) {
  const int64_t pages = static_cast<int64_t>((value & ~0xfffull) - (place & ~0xfffull)) >> 12;
  if (!fits(pages, 21)) return relocationOutOfRange(type);
  setField(word, static_cast<uint64_t>(pages), 2, 29);
  setField(word, static_cast<uint64_t>(pages) >> 2, 19, 5);
  return {};
}

Status setInstruction(uint32_t type, uint32_t& word, uint64_t value, uint64_t place) {
  const uint64_t low = value & 0xfff;
  if (const uint64_t access = static_cast<uint64_t>(accessBytes(type))) {
    if (low % access != 0) return relocationOutOfRange(type);
    setField(word, low / access, 12, 10);
    return {};
  }
  if (type == R_AARCH64_ADD_ABS_LO12_NC) return setField(word, low, 12, 10), Status();
  if (type != R_AARCH64_CALL26 && type != R_AARCH64_JUMP26) {
    return setPage(type, word, value, place);
  }
  const auto distance = static_cast<int64_t>(value - place);
  if (distance % 4 != 0 || !fits(distance, 28)) return relocationOutOfRange(type);
  setField(word, static_cast<uint64_t>(distance) >> 2, 26, 0);
  return {};
}

Status apply(uint32_t type, std::byte* at, uint64_t value, uint64_t place) {
  if (bytes(type) == 8 || type == R_AARCH64_PREL32) {
    if (type != R_AARCH64_ABS64) value -= place;
    if (bytes(type) == 4 && !fits(static_cast<int64_t>(value), 32)) {
      return relocationOutOfRange(type);
    }
    std::memcpy(at, &value, bytes(type));
    return {};
  }
  uint32_t word;
  std::memcpy(&word, at, sizeof word);
  TERCEL_TRY(setInstruction(type, word, value, place));
  std::memcpy(at, &word, sizeof word);
  return {};
}

}  // namespace

// ldr x16, .+8; br x16, of which callers expect that it changes. Calls reach 128 MB.
const ElfMachine kElfArm = {EM_AARCH64, size_t{127} << 20,
                            {0x50, 0, 0, 0x58, 0, 0x02, 0x1f, 0xd6}, reference, bytes, apply};

}  // namespace tercel::engine
