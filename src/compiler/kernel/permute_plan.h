// How a permutation of dimensions is cut and turned where lines are short on one side, or where
// what moves is a word of several elements.
//
// The plane that a task turns has two sides: `ins` are groups of loops that lie together in the
// input, from its innermost on, and `inner` and `outer` those in the output. What is turned lies in
// scratch memory, for each place of `ins` the places of the output's side in their order.
#pragma once
#include <optional>

#include "compiler/kernel/nest.h"

namespace tercel::kernel {

struct PermutePlan {
  enum class Way : uint8_t {
    join,   // few lines become lanes
    part,   // lanes become few lines
    tiles,  // squares of words
    words,  // each word by itself
    within, // words change places within a few vectors
  } way = Way::tiles;
  int64_t word = 1;           // elements that stay together
  int64_t words = 1;          // turned at a time, along the input
  std::vector<size_t> ins;    // innermost first
  std::vector<size_t> inner;  // innermost first; all of it is turned at a time
  std::optional<size_t> outer;
  int64_t in_size = 1, inner_size = 1, outer_size = 1;
  int64_t across() const { return inner_size * word; }  // elements, of one place of `outer`
  // Places of `ins` from one to the next of which the output has no gap: all that a run has.
  int64_t run = 1;
  bool is_packed = false;  // scratch memory is as the output; else there are gaps between places
};

// `loads` and `stores` are the strides of the loops' groups. None where whole tiles do better, or
// where words are longer than `widest_word` bytes: those are lines.
std::optional<PermutePlan> planPermutation(const LoopPlan& loops, const std::vector<int64_t>& loads,
                                           const std::vector<int64_t>& stores,
                                           int64_t element_bytes, int64_t vector_bytes,
                                           int64_t widest_word);

}  // namespace tercel::kernel
