#include "compiler/ir/clone.h"

#include <algorithm>

namespace tercel::ir {

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
  for (size_t i = 0; i < types.size(); ++i) map(from_.op(old).results[i], to_.op(fresh).results[i]);
  for (size_t i = 0; i < from_.op(old).regions.size(); ++i) {
    RegionId inner = copyRegion(from_.op(old).regions[i]);
    to_.op(fresh).regions.push_back(inner);
  }
  return fresh;
}

OpId copyOn(Module& module, Value v, Values operands) {
  const OpId old = module.value(v).def;
  const Type type = module.type(v);
  const OpId copy = module.addOp(module.op(old).kind, std::move(operands), {&type, 1});
  module.op(copy).attrs = module.op(old).attrs;
  module.op(copy).loc = module.op(old).loc;
  return copy;
}

namespace {

// `own`: the values defined so far in the region and those around it up to the op's.
bool usesOuterValues(const Module& module, RegionId id, std::vector<Value>& own) {
  const Region& region = module.region(id);
  size_t before = own.size();
  own.insert(own.end(), region.args.begin(), region.args.end());
  auto isOuter = [&](Value v) { return std::ranges::find(own, v) == own.end(); };
  bool outer = false;
  for (OpId op_id : region.ops) {
    const Op& op = module.op(op_id);
    outer |= std::ranges::any_of(op.operands, isOuter);
    for (RegionId inner : op.regions) outer = outer || usesOuterValues(module, inner, own);
    own.insert(own.end(), op.results.begin(), op.results.end());
    if (outer) break;
  }
  outer = outer || std::ranges::any_of(region.results, isOuter);
  own.resize(before);
  return outer;
}

}  // namespace

bool usesOuterValues(const Module& module, const Op& op) {
  std::vector<Value> own;
  for (RegionId region : op.regions)
    if (usesOuterValues(module, region, own)) return true;
  return false;
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

}  // namespace tercel::ir
