// Loops whose turns need nothing of each other, so that they may run in any order or at once.
#pragma once
#include <optional>

#include "compiler/ir/module.h"

namespace tercel::ir {

// Of a while_ that goes on while operand `counter` is less than a limit, and adds a step to it: the
// values that it counts from, to and by.
struct Counting {
  size_t counter = 0;
  Value first, limit, step;
};
std::optional<Counting> counting(const Module& module, const Op& loop);

// A while_ that counts `turns` turns, one at least, from `first`, which is not negative, by `step`,
// which is positive, in operand `counter`: all of them known.
struct CountedLoop {
  size_t counter = 0;
  int64_t first = 0;
  int64_t step = 1;
  int64_t turns = 0;
};
std::optional<CountedLoop> countedLoop(const Module& module, const Op& loop);

// Such a loop where what else it carries is a single element that stays as it is, or an array of
// which each turn reads and writes no more than the lines [count, count + step) of one dimension: by
// dynamic_slice and dynamic_update_slice that start at the count there, in loops inside of it too.
std::optional<CountedLoop> parallelLoop(const Module& module, const Op& op);

// A while_ with the attribute parallel_turns counts them from 0 in operand 0. Each turn writes a
// tile of every array that the loop carries besides, by one dynamic_update_slice and without reading
// it. Tiles do not overlap and cover all of it: the turns may run in any order or at once, and what
// the arrays hold before is not read. Whether it has that form; where tiles lie is for who made it
// to know.
bool isParallel(const Module& module, const Op& loop);

}  // namespace tercel::ir
