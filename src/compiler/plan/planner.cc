#include "compiler/plan/planner.h"

#include <algorithm>

#include "compiler/ir/op_use.h"
#include "compiler/plan/merge.h"
#include "compiler/plan/op_traits.h"
#include "compiler/plan/signature.h"

namespace tercel::plan {
namespace {

using ir::AttrKey;
using ir::Op;
using ir::OpKind;
using ir::Value;
using program::Place;
using program::Step;
using program::StepKind;

constexpr size_t kForever = ~size_t{0};

}  // namespace

Result<Plan> Planner::run() {
  const ir::Function& main = m_.main();
  describeSignature(m_, plan_.program);
  bindArguments();
  Scope scope{.region = main.body};
  plan_.program.sequences.emplace_back();
  openRegion(scope);
  TERCEL_TRY(planRegion(scope));
  finish();
  return std::move(plan_);
}

void Planner::bindArguments() {
  const ir::Region& body = m_.region(m_.main().body);
  for (size_t i = 0; i < body.args.size(); ++i) {
    const ir::Type& type = m_.type(body.args[i]);
    storages_.push_back({.place = Place::argument, .index = static_cast<uint32_t>(i),
                         .bytes = type.is_token ? 0 : type.shape.bytes()});
    keep(body.args[i].index, static_cast<StorageId>(storages_.size() - 1));
  }
}

// Results are made in place where each is the only result of its value.
void Planner::bindResults(Scope& scope) {
  if (!(scope.region == m_.main().body)) return;
  const ir::Region& body = m_.region(scope.region);
  std::vector<StorageId> donated(body.results.size(), kNoStorage);
  for (size_t a = 0; a < plan_.program.arguments.size(); ++a)
    if (int32_t result = plan_.program.arguments[a].aliased_result; result >= 0)
      donated[static_cast<size_t>(result)] = static_cast<StorageId>(a);
  for (size_t i = 0; i < body.results.size(); ++i) {
    Value v = root(body.results[i]);
    storages_.push_back({.place = Place::result, .index = static_cast<uint32_t>(i),
                         .bytes = plan_.program.results[i].is_token
                                      ? 0
                                      : plan_.program.results[i].shape.bytes(),
                         .argument = donated[i]});
    StorageId id = static_cast<StorageId>(storages_.size() - 1);
    if (m_.def(v) && !scope.wanted.contains(v.index)) scope.wanted[v.index] = id;
  }
}

Value Planner::root(Value v) const {
  for (auto at = view_of_.find(v.index); at != view_of_.end(); at = view_of_.find(v.index))
    v = at->second;
  return v;
}

// What is made in it and which values are views of others; then results can be wanted.
void Planner::openRegion(Scope& scope) {
  scope.units = mergeClusters(m_, scope.region, fuse(m_, scope.region));
  for (const Unit& unit : scope.units) {
    if (unit.is_cluster) continue;
    const Op& op = m_.op(unit.op);
    if (isView(m_, op) || op.kind == OpKind::optimization_barrier_)
      for (size_t i = 0; i < op.results.size(); ++i)
        view_of_[op.result(i).index] = op.operand(i);
  }
  noteOwn(scope);
}

void Planner::want(Scope& scope, Value result, StorageId there) {
  const Value made = root(result);
  if (m_.def(made) && scope.own.contains(made.index) && !m_.type(made).is_token)
    scope.wanted.try_emplace(made.index, there);
}

Status Planner::planRegion(Scope& scope) {
  noteUnread(m_.region(scope.region));
  findLastUses(scope);
  bindResults(scope);
  wantBefore(scope);
  for (scope.unit = 0; scope.unit < scope.units.size(); ++scope.unit)
    TERCEL_TRY(planUnit(scope, scope.units[scope.unit]));
  if (scope.region == m_.main().body) {
    const ir::Region& body = m_.region(scope.region);
    std::vector<std::pair<StorageId, StorageId>> moves;
    StorageId first = 0;
    while (first < storages_.size() && storages_[first].place != Place::result) ++first;
    for (size_t i = 0; i < body.results.size(); ++i)
      if (!m_.type(body.results[i]).is_token)
        moves.emplace_back(storageOf(body.results[i]), first + static_cast<StorageId>(i));
    copyAll(scope, std::move(moves));
  }
  return Status();
}

void Planner::noteOwn(Scope& scope) const {
  const ir::Region& region = m_.region(scope.region);
  for (Value v : region.args) scope.own.insert(v.index);
  for (ir::OpId op : region.ops)
    for (Value v : m_.op(op).results) scope.own.insert(v.index);
}

void Planner::noteReads(const Op& op, size_t unit, Scope& scope) {
  for (Value v : op.operands) scope.last_use[root(v).index] = unit;
  for (ir::RegionId r : op.regions) {
    for (ir::OpId inner : m_.region(r).ops) noteReads(m_.op(inner), unit, scope);
    for (Value v : m_.region(r).results) scope.last_use[root(v).index] = unit;
  }
}

void Planner::noteReads(const kernel::Cluster& cluster, size_t unit, Scope& scope) {
  for (Value v : cluster.inputs) scope.last_use[root(v).index] = unit;
}

void Planner::findLastUses(Scope& scope) {
  for (size_t u = 0; u < scope.units.size(); ++u) {
    if (scope.units[u].is_cluster)
      noteReads(scope.units[u].cluster, u, scope);
    else
      noteReads(m_.op(scope.units[u].op), u, scope);
  }
  for (Value v : scope.pinned) scope.last_use[v.index] = kForever;
  for (Value v : m_.region(scope.region).results) {
    // A value made for exactly this result is delivered by being made.
    Value r = root(v);
    bool here = scope.wanted.contains(r.index);
    if (!here || scope.last_use.contains(r.index)) scope.last_use[r.index] = kForever;
  }
}

// What an update, a loop or a call in place starts from is made where its result is wanted.
void Planner::wantBefore(Scope& scope) {
  for (size_t u = scope.units.size(); u-- > 0;) {
    const Unit& unit = scope.units[u];
    if (!unit.is_cluster && m_.op(unit.op).kind == OpKind::concatenate_) {
      wantPieces(scope, m_.op(unit.op), u);
      continue;
    }
    if (unit.is_cluster && !kernel::isInPlace(unit.cluster.nest)) continue;
    const Op& op = unit.is_cluster ? *m_.def(unit.cluster.outputs[0]) : m_.op(unit.op);
    bool calls = !unit.is_cluster && op.kind == OpKind::custom_call_;
    bool in_place = unit.is_cluster || calls || op.kind == OpKind::while_;
    std::vector<Value> captured = in_place ? captures(m_, op) : std::vector<Value>();
    for (size_t o = 0; in_place && o < op.results.size(); ++o) {
      int64_t start = calls ? aliasedOperand(op, o) : static_cast<int64_t>(o);
      if (start < 0 || m_.type(op.result(o)).is_token) continue;
      Value before = op.operand(static_cast<size_t>(start));
      if (std::find(captured.begin(), captured.end(), before) != captured.end()) continue;
      auto wanted = scope.wanted.find(op.result(o).index);
      before = root(before);
      auto last = scope.last_use.find(before.index);
      bool dies = last != scope.last_use.end() && last->second == u && m_.def(before);
      if (wanted == scope.wanted.end() || !dies || scope.wanted.contains(before.index)) continue;
      StorageId there = wanted->second;
      scope.wanted[before.index] = there;
    }
  }
}

bool Planner::diesHere(const Scope& scope, Value v) const {
  Value r = root(v);
  auto at = scope.last_use.find(r.index);
  if (at == scope.last_use.end() || at->second > scope.unit) return false;
  return scope.own.contains(r.index);  // those of the regions around live on: a loop may come back
}

Status Planner::planUnit(Scope& scope, Unit& unit) {
  if (!unit.is_cluster) return planOp(scope, m_.op(unit.op));
  if (kernel::isInPlace(unit.cluster.nest)) return planInPlace(scope, unit.cluster);
  return planCluster(scope, unit.cluster);
}

void Planner::finish() {
  plan_.program.arena_bytes = assignOffsets(storages_);
  for (program::Slot& slot : plan_.program.slots) {
    const Storage& s = storages_[slot.index];
    int64_t offset = s.offset;
    for (StorageId whole = s.part_of; whole != kNoStorage; whole = storages_[whole].part_of)
      offset += storages_[whole].offset;
    slot = {s.place, s.index, offset, s.bytes};
    if (s.place == Place::arena || s.place == Place::constant) slot.index = 0;
  }
}

Status Planner::unsupported(const Op& op) const {
  std::vector<ir::Type> types;
  for (Value v : op.operands) types.push_back(m_.type(v));
  std::string target = op.kind == OpKind::custom_call_
                           ? cat(" to \"", op.symbol(AttrKey::call_target_name), "\"")
                           : std::string();
  return unimplemented(ir::opName(op.kind), target, " of ", ir::toString(types),
                       " is not supported by Tercel (at ", m_.location(op.loc), ")");
}

Result<Plan> makePlan(const ir::Module& module, const CanCall& can_call) {
  return Planner(module, can_call).run();
}

}  // namespace tercel::plan
