// Control flow, and the ops that are steps of their own.
#include <algorithm>

#include "compiler/plan/op_traits.h"
#include "compiler/plan/planner.h"
#include "compiler/plan/region.h"

namespace tercel::plan {
namespace {

using ir::AttrKey;
using ir::Op;
using ir::OpKind;
using ir::Value;
using program::Place;
using program::Step;
using program::StepKind;

}  // namespace

Status Planner::planOp(Scope& scope, const Op& op) {
  ir::OpId id = scope.units[scope.unit].op;
  if (runsInTurns(op)) return planParallelLoop(scope, op);
  if (auto region = regionCluster(m_, id)) return planCluster(scope, std::move(*region));
  if (isView(m_, op)) return Status();
  switch (op.kind) {
    case OpKind::optimization_barrier_: return Status();
    case OpKind::while_: return planWhile(scope, op);
    case OpKind::if_: case OpKind::case_: return planBranch(scope, op);
    case OpKind::fork_: return planFork(scope, op);
    case OpKind::sort_: return planSort(scope, op);
    case OpKind::concatenate_: return planConcatenate(scope, op);
    case OpKind::fft_: return planFft(scope, op);
    case OpKind::custom_call_: return planCustomCall(scope, op);
    case OpKind::after_all_:
      storages_.push_back({.bytes = 0});
      keep(op.result().index, static_cast<StorageId>(storages_.size() - 1));
      return Status();
    case OpKind::select_and_scatter_:
      return planCluster(scope, clusterOf(m_, id, kernel::Nest::select_and_scatter));
    default: return unsupported(op);
  }
}

uint32_t Planner::newSequence() {
  plan_.program.sequences.emplace_back();
  return static_cast<uint32_t>(plan_.program.sequences.size() - 1);
}

// Where a loop carries an operand: in its own memory, in its result's, or in new memory.
StorageId Planner::placeCarried(Scope& scope, const Op& op, size_t i,
                                std::span<const StorageId> taken) {
  const Value init = op.operand(i), result = op.result(i);
  const StorageId from = storageOf(init);
  const bool unique = std::ranges::count(op.operands, init) == 1 &&
                      std::ranges::find(taken, from) == taken.end();
  const auto wanted = scope.wanted.find(result.index);
  const bool is_wanted = wanted != scope.wanted.end(), there = is_wanted && wanted->second == from;
  const bool in_place = unique && diesHere(scope, init) &&
                        (there || storages_[from].place == Place::arena);
  StorageId to = from;
  if (is_wanted && !(there && in_place) &&
      mayWrite(scope, wanted->second,
               clusterOf(m_, scope.units[scope.unit].op, kernel::Nest::update), result,
               unique ? init : Value{}))
    to = wanted->second;
  else if (!in_place)
    to = newStorage(init);
  copy(scope, from, to, m_.shape(init).bytes());
  return to;
}

Status Planner::planCondition(ir::RegionId region, const std::vector<StorageId>& carried,
                              StorageId predicate, uint32_t* sequence) {
  Scope scope{.region = region, .sequence = newSequence()};
  *sequence = scope.sequence;
  const ir::Region& r = m_.region(region);
  for (size_t i = 0; i < carried.size(); ++i) {
    keep(r.args[i].index, carried[i]);
    touch(carried[i]);
  }
  openRegion(scope);
  const Value go_on = r.results[0];
  want(scope, go_on, predicate);
  for (Value arg : r.args) scope.pinned.push_back(arg);
  TERCEL_TRY(planRegion(scope));
  deliver(scope, go_on, predicate);
  return Status();
}

Status Planner::planBody(ir::RegionId region, const std::vector<StorageId>& carried,
                         uint32_t* sequence) {
  Scope scope{.region = region, .sequence = newSequence()};
  *sequence = scope.sequence;
  const ir::Region& r = m_.region(region);
  openRegion(scope);
  for (size_t i = 0; i < carried.size(); ++i) {
    keep(r.args[i].index, carried[i]);
    want(scope, r.results[i], carried[i]);
  }
  TERCEL_TRY(planRegion(scope));
  std::vector<std::pair<StorageId, StorageId>> moves;
  for (size_t i = 0; i < carried.size(); ++i)
    if (!m_.type(r.results[i]).is_token) moves.emplace_back(storageOf(r.results[i]), carried[i]);
  copyAll(scope, std::move(moves));
  return Status();
}

Status Planner::planWhile(Scope& scope, const Op& op) {
  std::vector<StorageId> carried, taken;
  for (Value v : captures(m_, op))
    if (!m_.type(v).is_token) taken.push_back(storageOf(v));
  const int64_t begin = time_ + 1;
  for (size_t i = 0; i < op.operands.size(); ++i) {
    const Value init = op.operand(i);
    carried.push_back(m_.type(init).is_token ? keep(op.result(i).index, storageOf(init))
                                             : placeCarried(scope, op, i, taken));
    taken.push_back(carried.back());
  }
  storages_.push_back({.bytes = 1, .first = time_ + 1, .last = time_ + 1});
  const auto predicate = static_cast<StorageId>(storages_.size() - 1);
  std::vector<StorageId> outer_touched;
  outer_touched.swap(touched_);

  uint32_t condition, body;
  TERCEL_TRY(planCondition(op.regions[0], carried, predicate, &condition));
  TERCEL_TRY(planBody(op.regions[1], carried, &body));
  Step& step = addStep(scope, StepKind::while_loop);
  step.name = "while";
  step.target = condition;
  step.sequences = {body};
  step.slots = {slot(predicate)};
  // What the loop reads from before it, it reads in every trip.
  for (StorageId id : touched_)
    if (storages_[id].first < begin || id == predicate ||
        std::ranges::find(carried, id) != carried.end())
      storages_[id].last = std::max(storages_[id].last, time_);
  touchedBefore(std::move(outer_touched));
  for (size_t i = 0; i < carried.size(); ++i) keep(op.result(i).index, carried[i]);
  return Status();
}

Status Planner::planBranch(Scope& scope, const Op& op) {
  std::vector<StorageId> results;
  ++time_;
  for (Value v : op.results)
    results.push_back(m_.type(v).is_token ? keep(v.index, newStorage(v))
                                          : place(scope, v, {}));
  --time_;
  StorageId selector = storageOf(op.operand(0));
  std::vector<uint32_t> branches;
  std::vector<StorageId> outer_touched;
  outer_touched.swap(touched_);
  int64_t begin = time_ + 1;
  for (ir::RegionId region : op.regions) TERCEL_TRY(planInto(region, results, branches));
  Step& step = addStep(scope, StepKind::branch);
  step.name = std::string(ir::opName(op.kind));
  step.sequences = branches;
  step.slots = {slot(selector)};
  step.values = {op.kind == OpKind::if_ ? 1 : 4};
  keepUntilNow(begin);
  for (StorageId id : results) touch(id);
  touchedBefore(std::move(outer_touched));
  return Status();
}

// All that a branch makes for itself lies apart from what the others make, which may run meanwhile.
Status Planner::planFork(Scope& scope, const Op& op) {
  ++time_;
  std::vector<StorageId> results, blocks;
  for (Value v : op.results) results.push_back(keep(v.index, newStorage(v)));
  const int64_t begin = time_;
  std::vector<StorageId> outer_touched;
  outer_touched.swap(touched_);
  std::vector<uint32_t> branches;
  std::span<const StorageId> rest = results;
  for (ir::RegionId region : op.regions) {
    const size_t count = m_.region(region).results.size();
    const auto first = static_cast<StorageId>(storages_.size());
    TERCEL_TRY(planInto(region, rest.first(count), branches));
    blocks.push_back(packStorages(first));
    rest = rest.subspan(count);
  }
  Step& step = addStep(scope, StepKind::fork);
  step.name = std::string(ir::opName(op.kind));
  step.sequences = branches;
  keepUntilNow(begin);
  for (StorageId id : results) touch(id);
  for (StorageId id : blocks) {
    storages_[id].first = begin;
    touch(id);
  }
  touchedBefore(std::move(outer_touched));
  return Status();
}

Status Planner::planInto(ir::RegionId region, std::span<const StorageId> results,
                         std::vector<uint32_t>& sequences) {
  Scope branch{.region = region, .sequence = newSequence()};
  const ir::Region& r = m_.region(region);
  openRegion(branch);
  for (size_t i = 0; i < results.size(); ++i) want(branch, r.results[i], results[i]);
  TERCEL_TRY(planRegion(branch));
  std::vector<std::pair<StorageId, StorageId>> moves;
  for (size_t i = 0; i < results.size(); ++i)
    if (!m_.type(r.results[i]).is_token) moves.emplace_back(storageOf(r.results[i]), results[i]);
  copyAll(branch, std::move(moves));
  sequences.push_back(branch.sequence);
  return Status();
}

void Planner::keepUntilNow(int64_t begin) {
  for (StorageId id : touched_)
    if (storages_[id].first < begin) storages_[id].last = std::max(storages_[id].last, time_);
}

}  // namespace tercel::plan
