// A domain cut where bounds cut it: pads, concatenations and constant updates.
#pragma once
#include "compiler/kernel/nest.h"

namespace tercel::kernel {

struct Piece {
  Indices start;  // constants
  Dims extents;
};

// Pieces in each of which the elements come from one place, as far as few pieces allow; together they
// are the domain. `evaluate` as for planLoops.
std::vector<Piece> cutDomain(const Lowering& lowering, const Dims& domain,
                             const Evaluate& evaluate);

}  // namespace tercel::kernel
