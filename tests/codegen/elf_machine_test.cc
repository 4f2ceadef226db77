// Relocations of aarch64, which no test links here: instructions as the Arm manual encodes them.
#include "runtime/engine/elf_machine.h"

#include <elf.h>
#include <gtest/gtest.h>

#include <cstring>

namespace tercel::engine {
namespace {

constexpr uint64_t kPlace = 0x7f0000001004;

Result<uint32_t> applied(uint32_t type, uint32_t word, uint64_t value, uint64_t place = kPlace) {
  std::byte at[4];
  std::memcpy(at, &word, 4);
  TERCEL_TRY(kElfArm.apply(type, at, value, place));
  std::memcpy(&word, at, 4);
  return word;
}

struct Case {
  uint32_t type, before;
  uint64_t value;
  uint32_t after;
};

TEST(ElfArm, Instructions) {
  const Case cases[] = {
      {R_AARCH64_CALL26, 0x94000000, kPlace + 8, 0x94000002},               // bl .+8
      {R_AARCH64_CALL26, 0x94000000, kPlace - 4, 0x97ffffff},               // bl .-4
      {R_AARCH64_JUMP26, 0x14000000, kPlace + 0x7fffffc, 0x15ffffff},       // b, the farthest
      {R_AARCH64_ADR_PREL_PG_HI21, 0x90000000, 0x7f0000003abc, 0xd0000000}, // adrp x0, .+2 pages
      {R_AARCH64_ADR_PREL_PG_HI21, 0x90000001, 0x7f0000005000, 0x90000021}, // adrp x1, .+4 pages
      {R_AARCH64_ADR_PREL_PG_HI21, 0x90000000, 0x7f0000000fff, 0xf0ffffe0}, // adrp x0, .-1 page
      {R_AARCH64_ADR_GOT_PAGE, 0x90000000, 0x7f0000002000, 0xb0000000},
      {R_AARCH64_ADD_ABS_LO12_NC, 0x91000000, 0xabc, 0x912af000},      // add x0, x0, #0xabc
      {R_AARCH64_LDST8_ABS_LO12_NC, 0x39400000, 0xabc, 0x396af000},    // ldrb w0, [x0, #0xabc]
      {R_AARCH64_LDST32_ABS_LO12_NC, 0xbd400000, 0xabc, 0xbd4abc00},   // ldr s0, [x0, #0xabc]
      {R_AARCH64_LDST64_ABS_LO12_NC, 0xfd400000, 0xab8, 0xfd455c00},   // ldr d0, [x0, #0xab8]
      {R_AARCH64_LDST128_ABS_LO12_NC, 0x3dc00000, 0xab0, 0x3dc2ac00},  // ldr q0, [x0, #0xab0]
      {R_AARCH64_LD64_GOT_LO12_NC, 0xf9400000, 0x7f0000001008, 0xf9400400},
  };
  for (const Case& c : cases) {
    const Result<uint32_t> after = applied(c.type, c.before, c.value);
    ASSERT_TRUE(after.ok()) << c.type;
    EXPECT_EQ(*after, c.after) << c.type << std::hex << " " << *after;
    EXPECT_EQ(*applied(c.type, c.after, c.value), c.after) << "what was there before stays";
  }
}

TEST(ElfArm, WhatIsOutOfReachIsRefused) {
  EXPECT_FALSE(applied(R_AARCH64_CALL26, 0x94000000, kPlace + 0x8000000).ok());
  EXPECT_FALSE(applied(R_AARCH64_CALL26, 0x94000000, kPlace + 2).ok());
  EXPECT_FALSE(applied(R_AARCH64_ADR_PREL_PG_HI21, 0x90000000, kPlace + (1ull << 33)).ok());
  EXPECT_FALSE(applied(R_AARCH64_LDST128_ABS_LO12_NC, 0x3dc00000, 8).ok());
  EXPECT_FALSE(applied(R_AARCH64_PREL32, 0, kPlace + (1ull << 31)).ok());
  EXPECT_EQ(kElfArm.reference(R_AARCH64_TLSDESC_CALL), Reference::unknown);
}

TEST(ElfArm, Data) {
  std::byte at[8];
  uint64_t word = 0;
  ASSERT_TRUE(kElfArm.apply(R_AARCH64_ABS64, at, 0x123456789abcdef0, kPlace).ok());
  std::memcpy(&word, at, 8);
  EXPECT_EQ(word, 0x123456789abcdef0u);
  EXPECT_EQ(*applied(R_AARCH64_PREL32, 0, kPlace - 4), 0xfffffffcu);
}

}  // namespace
}  // namespace tercel::engine
