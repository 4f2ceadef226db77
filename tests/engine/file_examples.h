// Files with something of everything that they can hold.
#pragma once
#include <cstddef>
#include <vector>

#include "program/artifact.h"
#include "program/program.h"

namespace tercel::test {

program::Program programOfEverything();
program::Artifact artifactOfEverything();

inline constexpr size_t kHeaderBytes = 32;

// As an attacker or a bug would: changed bytes under a checksum that fits.
std::vector<std::byte> sealed(std::vector<std::byte> bytes);

}  // namespace tercel::test
