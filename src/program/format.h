// The file of a Program: little-endian, versioned, with a checksum. Equal programs, equal bytes.
#pragma once
#include <cstddef>
#include <span>
#include <vector>

#include "core/status.h"
#include "program/program.h"

namespace tercel::program {

// Another version's file is refused, never guessed at.
inline constexpr uint32_t kFormatVersion = 9;

std::vector<std::byte> serialize(const Program& program);

bool isProgram(std::span<const std::byte> bytes);

// INVALID_ARGUMENT for what is not a Program of this version, DATA_LOSS for a damaged one. What it
// returns has passed validate(). The native code in it is trusted.
Result<Program> deserialize(std::span<const std::byte> bytes);

}  // namespace tercel::program
