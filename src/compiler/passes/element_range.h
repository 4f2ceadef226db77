// Between which numbers an array's elements lie, by the ops that make them.
#pragma once
#include <unordered_map>

#include "compiler/passes/ranges.h"

namespace tercel::passes {

bool hasRange(DType type);  // all of whose numbers are in one: an integer but u64, or a predicate
Range rangeOfType(DType type);  // all that 64 bits hold where it has none

class ElementRanges {
 public:
  Range of(const Rewriter& rw, ir::Value v, int depth = 6);
  // The result of a comparison of integers with a constant, where the ranges decide it.
  std::optional<bool> decides(const Rewriter& rw, const ir::Op& compare);
  // Whether a shift_right_logical by a constant leaves zeros.
  bool areShiftedOut(const Rewriter& rw, const ir::Op& shift);

 private:
  Range found(const Rewriter& rw, ir::Value v, int depth);

  std::unordered_map<uint32_t, Range> known_;  // by value index
};

}  // namespace tercel::passes
