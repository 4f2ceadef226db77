// How often each value is used, counted when made. Values added later count as used many times.
#pragma once
#include <vector>

#include "compiler/ir/module.h"

namespace tercel::passes {

class Uses {
 public:
  explicit Uses(const ir::Module& module) : count_(module.valueCount()) {
    for (const ir::Function& f : module.functions) countIn(module, f.body);
  }
  uint32_t count(ir::Value v) const { return v.index < count_.size() ? count_[v.index] : kMany; }

 private:
  static constexpr uint32_t kMany = 1u << 30;

  void countIn(const ir::Module& module, ir::RegionId id) {
    for (ir::OpId op : module.region(id).ops) {
      for (ir::Value v : module.op(op).operands) ++count_[v.index];
      for (ir::RegionId inner : module.op(op).regions) countIn(module, inner);
    }
    for (ir::Value v : module.region(id).results) ++count_[v.index];
  }

  std::vector<uint32_t> count_;
};

}  // namespace tercel::passes
