// The loop nest's variants for clusters that turn memory.
#pragma once
#include <algorithm>
#include <bit>

#include "compiler/kernel/nest.h"

namespace tercel::kernel {

inline constexpr size_t kNoGroup = ~size_t{0};  // of dimensions
// Bytes of an output whose rows the hardware is too late to fetch before they are overwritten, and
// of such a row.
inline constexpr int64_t kStreamed = 16 << 20, kShortestStreamed = 1 << 10;

// Nests that suit some clusters only.
template <class Nest>
bool lowerWhereSuited(Lowering& low) {
  Nest nest(low);
  if (!nest.suits()) return false;
  nest.run();
  return true;
}

// False, and nothing emitted, where no tiles of a transposed operand can be turned in registers.
bool lowerTransposed(Lowering& low);

// The same where a few long lines do not become, or are not, as many lanes of one.
bool lowerInterleaved(Lowering& low);

// The same where rows of a few elements are made in different ways.
bool lowerJoined(Lowering& low);
// The same where their lines have several elements: so many vectors in a row at most.
inline constexpr int64_t kMostLineVectors = 48;
bool lowerJoinedLines(Lowering& low);
// Lanes of the vectors that make a line.
inline int64_t lanesOfLine(int64_t elements, int64_t most) {
  return std::min(most, static_cast<int64_t>(std::bit_floor(static_cast<uint64_t>(elements))));
}

// The same where lines are short on one side, or words of several elements move.
bool lowerPermuted(Lowering& low);

}  // namespace tercel::kernel
