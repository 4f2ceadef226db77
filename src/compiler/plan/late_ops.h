// Ops that come after others of a list, and what has to wait for them.
#pragma once
#include <algorithm>
#include <span>
#include <unordered_set>

#include "compiler/plan/op_traits.h"

namespace tercel::plan {

class LateOps {
 public:
  // Whether the op reads what a late one makes, or has an effect after one of theirs.
  bool isBefore(const ir::Op& op, std::span<const ir::Value> reads) const {
    return (has_effect_ && isCallOrControl(op)) || std::ranges::any_of(reads, [&](ir::Value v) {
             return made_.contains(v.index);
           });
  }
  void add(const ir::Op& op) {
    has_effect_ |= isCallOrControl(op);
    for (ir::Value v : op.results) made_.insert(v.index);
  }

 private:
  std::unordered_set<uint32_t> made_;  // values
  bool has_effect_ = false;
};

}  // namespace tercel::plan
