// A domain cut where bounds cut it: pads, concatenations and constant updates.
#pragma once
#include "compiler/kernel/nest.h"

namespace tercel::kernel {

struct Piece {
  Indices start;  // constants
  Dims extents;
};

inline constexpr int64_t kSmallDomain = 256;  // elements: one piece is soon done with them
inline constexpr size_t kOpsOfPieces = 24;    // ops that all pieces together may have

// Of more ops a long line is still cut at the ends of what is as long as this.
inline constexpr int64_t kLongLine = 4;  // vectors

// Ops that become code: the others are constants, or addresses.
size_t opsOf(const Lowering& lowering);

// Where a bound of `evaluate` that is open in the piece cuts one of its dimensions, and the end.
std::vector<int64_t> findCuts(const Lowering& lowering, const Piece& piece, size_t dimension,
                              const Evaluate& evaluate);

// Pieces in each of which the elements come from one place, as far as few pieces allow; together they
// are the domain. `evaluate` as for planLoops.
std::vector<Piece> cutDomain(const Lowering& lowering, const Dims& domain,
                             const Evaluate& evaluate);

}  // namespace tercel::kernel
