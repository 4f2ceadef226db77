// How often each value is read in a region and those inside of it, results of regions included.
#pragma once
#include <unordered_map>

#include "compiler/ir/module.h"

namespace tercel::plan {

class UseCounts {
 public:
  UseCounts(const ir::Module& module, ir::RegionId region) { count(module, region); }
  int of(ir::Value v) const {
    auto at = counts_.find(v.index);
    return at == counts_.end() ? 0 : at->second;
  }

 private:
  void count(const ir::Module& m, ir::RegionId id) {
    for (ir::OpId o : m.region(id).ops) {
      for (ir::Value v : m.op(o).operands) ++counts_[v.index];
      for (ir::RegionId inside : m.op(o).regions) count(m, inside);
    }
    for (ir::Value v : m.region(id).results) ++counts_[v.index];
  }

  std::unordered_map<uint32_t, int> counts_;
};

}  // namespace tercel::plan
