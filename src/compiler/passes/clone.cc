#include "compiler/passes/clone.h"

#include <algorithm>

namespace tercel::passes {
using namespace ir;

void RegionCopier::map(Value old, Value fresh) {
  if (old.index >= copy_.size()) copy_.resize(std::max<size_t>(from_.valueCount(), old.index + 1));
  copy_[old.index] = fresh;
  mapped_.push_back(old);
}

Values RegionCopier::mapped(const Values& old) const {
  Values values = old;
  for (Value& v : values)
    if (v.index < copy_.size() && copy_[v.index].valid()) v = copy_[v.index];
  return values;
}

RegionId RegionCopier::copy(RegionId region) {
  RegionId fresh = copyRegion(region);
  for (Value v : mapped_) copy_[v.index] = Value{};
  mapped_.clear();
  return fresh;
}

RegionId RegionCopier::copyRegion(RegionId old) {
  RegionId fresh = to_.addRegion();
  for (Value arg : Values(from_.region(old).args))
    map(arg, to_.addArg(fresh, Type(from_.type(arg))));
  std::vector<OpId> ops;
  ops.reserve(from_.region(old).ops.size());
  for (size_t i = 0; i < from_.region(old).ops.size(); ++i)
    ops.push_back(copyOp(from_.region(old).ops[i]));
  to_.region(fresh).ops = std::move(ops);
  to_.region(fresh).results = mapped(from_.region(old).results);
  return fresh;
}

OpId RegionCopier::copyOp(OpId old) {
  std::vector<Type> types;
  for (Value v : from_.op(old).results) types.push_back(from_.type(v));
  OpId fresh = to_.addOp(from_.op(old).kind, mapped(from_.op(old).operands), types);
  to_.op(fresh).loc = from_.op(old).loc;
  if (move_attrs_)
    to_.op(fresh).attrs = std::move(from_.op(old).attrs);
  else
    to_.op(fresh).attrs = from_.op(old).attrs;
  for (size_t i = 0; i < types.size(); ++i)
    map(from_.op(old).results[i], to_.op(fresh).results[i]);
  for (size_t i = 0; i < from_.op(old).regions.size(); ++i) {
    RegionId inner = copyRegion(from_.op(old).regions[i]);
    to_.op(fresh).regions.push_back(inner);
  }
  return fresh;
}

void compact(Module& module) {
  Module fresh;
  fresh.name = std::move(module.name);
  fresh.num_partitions = module.num_partitions;
  fresh.num_replicas = module.num_replicas;
  fresh.functions = std::move(module.functions);
  fresh.locations = std::move(module.locations);
  RegionCopier copier(module, fresh, true);
  for (Function& f : fresh.functions) f.body = copier.copy(f.body);
  module = std::move(fresh);
}

}  // namespace tercel::passes
