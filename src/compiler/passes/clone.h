// Copies of regions, and a module without what nothing refers to.
#pragma once
#include <vector>

#include "compiler/ir/module.h"

namespace tercel::passes {

// Copies regions of `from` into `to` (which may be the same module), with all that is within them;
// values of the regions around them stay shared. Keep one for many copies: its table is as long as
// the module.
class RegionCopier {
 public:
  // move_attrs: the ops copied are not needed any more.
  RegionCopier(ir::Module& from, ir::Module& to, bool move_attrs = false)
      : from_(from), to_(to), move_attrs_(move_attrs) {}
  ir::RegionId copy(ir::RegionId region);

 private:
  ir::RegionId copyRegion(ir::RegionId old);
  ir::OpId copyOp(ir::OpId old);
  ir::Values mapped(const ir::Values& old) const;
  void map(ir::Value old, ir::Value fresh);

  ir::Module& from_;
  ir::Module& to_;
  bool move_attrs_;
  std::vector<ir::Value> copy_;  // by value of `from`; invalid: not copied, stays
  std::vector<ir::Value> mapped_;
};

// The op of a value once more, on other operands; it has one result, no regions, and is in no region
// yet.
ir::OpId copyOn(ir::Module& module, ir::Value v, ir::Values operands);

// Renumbers a module so that its arrays hold only what its functions reach, in order of appearance.
void compact(ir::Module& module);

// Calls f(op, region it is in) for each op of a region and of the regions within, in order.
template <class F>
void forEachOp(const ir::Module& module, ir::RegionId region, F&& f) {
  for (ir::OpId id : module.region(region).ops) {
    f(id, region);
    for (ir::RegionId inner : module.op(id).regions) forEachOp(module, inner, f);
  }
}

// Whether the regions of an op use values from outside of them.
bool usesOuterValues(const ir::Module& module, const ir::Op& op);

}  // namespace tercel::passes
