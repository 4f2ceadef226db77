#include "compiler/passes/lanes.h"

#include "core/status.h"

namespace tercel::passes {
using namespace ir;
namespace {

template <class Belongs>
Values kept(const Values& values, Belongs&& belongs) {
  Values rest;
  for (size_t i = 0; i < values.size(); ++i)
    if (belongs(i)) rest.push_back(values[i]);
  return rest;
}

void renumber(Module& module, const Values& values) {
  for (uint32_t i = 0; i < values.size(); ++i) module.setIndex(values[i], i);
}

}  // namespace

bool hasLanes(OpKind kind) {
  switch (kind) {
    case OpKind::case_:
    case OpKind::if_:
    case OpKind::optimization_barrier_:
    case OpKind::reduce_:
    case OpKind::reduce_window_:
    case OpKind::scatter_:
    case OpKind::sort_:
    case OpKind::while_:
      return true;
    default:
      return false;
  }
}

int64_t laneOfOperand(const Op& op, size_t operand) {
  size_t lanes = op.results.size();
  switch (op.kind) {
    case OpKind::case_:
    case OpKind::if_:
      return -1;
    case OpKind::reduce_:
    case OpKind::reduce_window_:
      return operand % lanes;
    case OpKind::scatter_:
      if (operand == lanes) return -1;
      return operand < lanes ? operand : operand - lanes - 1;
    default:
      return operand;
  }
}

SmallVector<uint32_t, 2> operandsOfLane(const Op& op, uint32_t lane) {
  uint32_t lanes = static_cast<uint32_t>(op.results.size());
  switch (op.kind) {
    case OpKind::case_:
    case OpKind::if_:
      return {};
    case OpKind::reduce_:
    case OpKind::reduce_window_:
      return {lane, lanes + lane};
    case OpKind::scatter_:
      return {lane, lanes + 1 + lane};
    default:
      return {lane};
  }
}

int64_t laneOfArg(const Op& op, size_t arg) {
  switch (op.kind) {
    case OpKind::sort_:
      return arg / 2;
    case OpKind::while_:
      return arg;
    default:
      return arg % op.results.size();
  }
}

bool returnsLanes(const Op& op, size_t region) {
  if (op.kind == OpKind::sort_) return false;
  return op.kind != OpKind::while_ || region == 1;
}

void keepLanes(Module& module, OpId id, const std::vector<bool>& keep) {
  Op& op = module.op(id);
  TERCEL_CHECK(hasLanes(op.kind) && keep.size() == op.results.size(), opName(op.kind));
  auto by_arg = [&](size_t i) { return keep[laneOfArg(op, i)]; };
  auto by_operand = [&](size_t i) {
    int64_t lane = laneOfOperand(op, i);
    return lane < 0 || keep[lane];
  };
  for (size_t r = 0; r < op.regions.size(); ++r) {
    Region& region = module.region(op.regions[r]);
    region.args = kept(region.args, by_arg);
    renumber(module, region.args);
    if (returnsLanes(op, r))
      region.results = kept(region.results, [&](size_t i) { return keep[i]; });
  }
  op.operands = kept(op.operands, by_operand);
  op.results = kept(op.results, [&](size_t i) { return keep[i]; });
  renumber(module, op.results);
}

}  // namespace tercel::passes
