// Loops whose turns run at once: each thread has the arrays of a turn in memory of its own.
#include <algorithm>

#include "compiler/ir/parallel_loop.h"
#include "compiler/plan/op_traits.h"
#include "compiler/plan/planner.h"

namespace tercel::plan {

using ir::Op;
using ir::OpKind;
using ir::Value;
using program::Place;
using program::Step;
using program::StepKind;

namespace {

bool callsOut(const ir::Module& m, ir::RegionId region) {
  return std::ranges::any_of(m.region(region).ops, [&](ir::OpId id) {
    const Op& op = m.op(id);
    return isCallOrControl(op) ||
           std::ranges::any_of(op.regions, [&](ir::RegionId r) { return callsOut(m, r); });
  });
}

}  // namespace

bool Planner::runsInTurns(const Op& op) const {
  return !in_turn_ && ir::isParallel(m_, op) && !callsOut(m_, op.regions[1]);
}

// Constants that nothing else uses.
void Planner::noteUnread(const ir::Region& region) {
  for (ir::OpId id : region.ops) {
    const Op& loop = m_.op(id);
    if (!runsInTurns(loop)) continue;
    for (size_t i = 1; i < loop.operands.size(); ++i) {
      const Value v = loop.operand(i);
      const Op* def = m_.def(v);
      const auto uses = [&](ir::OpId o) { return std::ranges::count(m_.op(o).operands, v); };
      if (def && def->kind == OpKind::constant_ && uses(id) == 1 &&
          std::ranges::count_if(region.ops, uses) == 1 &&
          std::ranges::count(region.results, v) == 0)
        unread_.insert(v.index);
    }
  }
}

bool Planner::isUnread(const kernel::Cluster& cluster) const {
  return cluster.outputs.size() == 1 && unread_.contains(cluster.outputs[0].index);
}

Status Planner::planParallelLoop(Scope& scope, const Op& op) {
  const kernel::Cluster reads =
      clusterOf(m_, scope.units[scope.unit].op, kernel::Nest::update);
  for (Value v : captures(m_, op)) storageOf(v);
  ++time_;
  const int64_t begin = time_;
  std::vector<StorageId> carried = {kNoStorage};
  for (size_t i = 1; i < op.results.size(); ++i)
    carried.push_back(place(scope, op.result(i), reads));
  std::vector<StorageId> outer_touched;
  outer_touched.swap(touched_);

  const auto first = static_cast<StorageId>(storages_.size());
  const Shape& count = m_.shape(op.operand(0));
  storages_.push_back({.bytes = count.bytes(), .first = time_, .last = time_});
  carried[0] = first;
  Scope turn{.region = op.regions[1],
             .sequence = static_cast<uint32_t>(plan_.program.sequences.size())};
  TERCEL_TRY(planTurn(op, carried, turn));

  Step& step = addStep(scope, StepKind::parallel_loop);
  step.name = "parallel_loop";
  step.sequences = {turn.sequence};
  step.slots = {slot(first)};
  step.tasks = op.integer(ir::AttrKey::parallel_turns);
  step.values = {0, 1, count.bytes()};
  const StorageId block = packStorages(first);
  for (StorageId id = first; id <= block; ++id)
    if (whole(id) == block) storages_[id].place = Place::turn;
  plan_.program.turn_bytes = std::max(plan_.program.turn_bytes, storages_[block].bytes);
  keepUntilNow(begin);
  std::erase_if(touched_, [&](StorageId id) { return storages_[id].place == Place::turn; });
  for (size_t i = 1; i < carried.size(); ++i) touch(carried[i]);
  touchedBefore(std::move(outer_touched));
  return Status();
}

Status Planner::planTurn(const Op& op, std::span<const StorageId> carried, Scope& turn) {
  plan_.program.sequences.emplace_back();
  const ir::Region& body = m_.region(turn.region);
  openRegion(turn);
  for (size_t i = 0; i < carried.size(); ++i) {
    keep(body.args[i].index, carried[i]);
    if (i > 0) want(turn, body.results[i], carried[i]);
  }
  turn.pinned = {body.args[0]};
  in_turn_ = true;
  Status status = planRegion(turn);
  in_turn_ = false;
  TERCEL_TRY(std::move(status));
  for (size_t i = 1; i < carried.size(); ++i) {
    TERCEL_CHECK(storageOf(body.results[i]) == carried[i], "a turn moves an array of all turns");
    keep(op.result(i).index, carried[i]);
  }
  return Status();
}

}  // namespace tercel::plan
