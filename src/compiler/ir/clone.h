// Copies of regions, and a module without what nothing refers to.
#pragma once
#include <vector>

#include "compiler/ir/module.h"

namespace tercel::ir {

// Copies regions of `from` into `to` (which may be the same module), with all that is within them;
// values of the regions around them stay shared. Keep one for many copies: its table is as long as
// the module.
class RegionCopier {
 public:
  // move_attrs: the ops copied are not needed any more.
  RegionCopier(Module& from, Module& to, bool move_attrs = false)
      : from_(from), to_(to), move_attrs_(move_attrs) {}
  RegionId copy(RegionId region);

 private:
  RegionId copyRegion(RegionId old);
  OpId copyOp(OpId old);
  Values mapped(const Values& old) const;
  void map(Value old, Value fresh);

  Module& from_;
  Module& to_;
  bool move_attrs_;
  std::vector<Value> copy_;  // by value of `from`; invalid: not copied, stays
  std::vector<Value> mapped_;
};

// The op of a value once more, on other operands; it has one result, no regions, and is in no region
// yet.
OpId copyOn(Module& module, Value v, Values operands);

// Renumbers a module so that its arrays hold only what its functions reach, in order of appearance.
void compact(Module& module);

// Calls f(op, region it is in) for each op of a region and of the regions within, in order.
template <class F>
void forEachOp(const Module& module, RegionId region, F&& f) {
  for (OpId id : module.region(region).ops) {
    f(id, region);
    for (RegionId inner : module.op(id).regions) forEachOp(module, inner, f);
  }
}

// Calls f(v) for each value that the op and the ops of its regions read, and for those that its regions
// return.
template <class F>
void forEachRead(const Module& module, const Op& op, F&& f) {
  for (Value v : op.operands) f(v);
  for (RegionId region : op.regions) {
    for (OpId inner : module.region(region).ops) forEachRead(module, module.op(inner), f);
    for (Value v : module.region(region).results) f(v);
  }
}

// Whether the regions of an op use values from outside of them.
bool usesOuterValues(const Module& module, const Op& op);

}  // namespace tercel::ir
