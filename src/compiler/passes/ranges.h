// What is known of numbers without running the program.
#pragma once
#include <optional>
#include <unordered_map>

#include "compiler/passes/rewriter.h"

namespace tercel::passes {

// A float that is +0 or more, or NaN; never -0.
bool isNonNegative(const Rewriter& rw, ir::Value v, int depth = 6);

struct Range {
  int64_t low, high;  // inclusive
};

// Whether what lies in `a` compares so with what lies in `b`, where that is known.
std::optional<bool> decided(std::string_view direction, Range a, Range b);

// What a loop carries from `first` on in steps of `step` while it is below `limit`.
struct Counter {
  size_t lane;
  int64_t first, step, limit;
};
std::optional<Counter> counterOf(const Rewriter& rw, const ir::Op& loop);

// The ranges of integer scalars that follow from constants and from the counters of loops.
class IntegerRanges {
 public:
  // To be called where the walk enters a region of `owner`: the counter of a loop's body.
  void enterRegion(const Rewriter& rw, ir::RegionId region, ir::OpId owner);
  std::optional<Range> of(const Rewriter& rw, ir::Value v, int depth = 6) const;
  // The result of a comparison, where the ranges decide it.
  std::optional<bool> decides(const Rewriter& rw, const ir::Op& compare) const;

 private:
  // Of the numbers before they wrap.
  std::optional<Range> ofOp(const Rewriter& rw, const ir::Op& op, int depth) const;

  std::unordered_map<uint32_t, Range> counters_;  // by value index
};

}  // namespace tercel::passes
