// Liveness runs backwards from the results of the functions and from effects, lane by lane: a
// loop-carried value is live where its result is read after the loop, or where a live op of the
// body or condition reads it; one that only feeds itself is not.
#include "compiler/ir/clone.h"
#include "compiler/passes/effects.h"
#include "compiler/passes/lanes.h"
#include "compiler/passes/passes.h"

namespace tercel::passes {
using namespace ir;
namespace {

class Liveness {
 public:
  explicit Liveness(const Module& module)
      : module_(module),
        live_(module.valueCount()),
        live_ops_(module.opCount()),
        parent_(module.opCount()),
        owner_(module.valueCount()) {
    for (const Function& f : module.functions) index(f.body, OpId{});
    for (const Function& f : module.functions)
      for (Value v : module.region(f.body).results) mark(v);
    settle();
  }

  bool isLive(Value v) const { return live_[v.index]; }
  bool isLive(OpId op) const { return live_ops_[op.index]; }

 private:
  void index(RegionId region, OpId owner) {
    for (Value arg : module_.region(region).args) owner_[arg.index] = owner;
    for (OpId id : module_.region(region).ops) {
      parent_[id.index] = owner;
      if (hasEffect(module_.op(id))) markOp(id);
      for (RegionId inner : module_.op(id).regions) index(inner, id);
    }
  }

  void mark(Value v) {
    if (live_[v.index]) return;
    live_[v.index] = true;
    pending_.push_back(v);
  }

  void settle() {
    while (!pending_.empty()) {
      Value v = pending_.back();
      pending_.pop_back();
      if (OpId def = module_.value(v).def; def.valid()) {
        markOp(def);
        if (hasLanes(module_.op(def).kind)) markLane(module_.op(def), module_.value(v).index);
      } else if (OpId owner = owner_[v.index]; owner.valid()) {
        const Op& op = module_.op(owner);
        if (hasLanes(op.kind)) mark(op.results[laneOfArg(op, module_.value(v).index)]);
      }
    }
  }

  // What the op needs whichever of its lanes are live, and the ops around it.
  void markOp(OpId id) {
    for (; id.valid() && !live_ops_[id.index]; id = parent_[id.index]) {
      live_ops_[id.index] = true;
      const Op& op = module_.op(id);
      bool lanes = hasLanes(op.kind);
      for (size_t i = 0; i < op.operands.size(); ++i)
        if (!lanes || laneOfOperand(op, i) < 0) mark(op.operands[i]);
      for (size_t r = 0; r < op.regions.size(); ++r)
        if (!lanes || !returnsLanes(op, r))
          for (Value v : module_.region(op.regions[r]).results) mark(v);
    }
  }

  void markLane(const Op& op, uint32_t lane) {
    for (uint32_t i : operandsOfLane(op, lane)) mark(op.operands[i]);
    for (size_t r = 0; r < op.regions.size(); ++r)
      if (returnsLanes(op, r)) mark(module_.region(op.regions[r]).results[lane]);
  }

  const Module& module_;
  std::vector<bool> live_;
  std::vector<bool> live_ops_;
  std::vector<OpId> parent_;  // the op whose region holds this one
  std::vector<OpId> owner_;   // the op whose region has this argument
  std::vector<Value> pending_;
};

bool dropDeadLanes(Module& module, OpId id, const Liveness& live) {
  const Op& op = module.op(id);
  std::vector<bool> keep;
  bool any_dead = false;
  for (Value v : op.results) {
    keep.push_back(live.isLive(v));
    any_dead |= !keep.back();
  }
  if (any_dead) keepLanes(module, id, keep);
  return any_dead;
}

bool sweep(Module& module, RegionId region, const Liveness& live) {
  std::vector<OpId>& ops = module.region(region).ops;
  size_t before = ops.size();
  std::erase_if(ops, [&](OpId id) { return !live.isLive(id); });
  bool changed = ops.size() != before;
  for (OpId id : ops) {
    if (hasLanes(module.op(id).kind)) changed |= dropDeadLanes(module, id, live);
    for (RegionId inner : module.op(id).regions) changed |= sweep(module, inner, live);
  }
  return changed;
}

}  // namespace

PassResult dce(Module& module) {
  Liveness live(module);
  bool changed = false;
  for (const Function& f : module.functions) changed |= sweep(module, f.body, live);
  return changed;
}

}  // namespace tercel::passes
