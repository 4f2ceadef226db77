// How a loop can be cut along a batch: what it carries, rows of which need nothing of other rows.
#pragma once
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "compiler/ir/cut.h"

namespace tercel::plan {

// Of each operand of a while_.
struct Carried {
  ir::Cut cut;                // whole: one element or what no row changes
  bool is_stack = false;  // an array that each turn writes some place of, all of the cut dimension
  bool is_known = false;
};

// The cuts that follow from cutting operand `seed` at `dimension`, and of how many rows; none where
// the loop mixes rows, has effects, or does much besides that each slice would do again.
struct LoopCuts {
  std::vector<Carried> carried;
  int64_t rows = 0;
  DType count = DType::s32;  // of the places that it reads from and writes to
};
std::optional<LoopCuts> findLoopCuts(const ir::Module& module, const ir::Op& loop, size_t seed,
                                     int64_t dimension);

}  // namespace tercel::plan
