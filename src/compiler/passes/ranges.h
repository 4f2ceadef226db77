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

// The ranges of integer scalars that follow from constants and from the counters of loops.
class IntegerRanges {
 public:
  // To be called where the walk enters a region of `owner`: the counters of a loop's body, from a
  // constant on in steps of a constant while below a constant.
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
