#include "compiler/plan/region_memory.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "compiler/plan/captures.h"
#include "compiler/plan/identity_reads.h"

namespace tercel::plan {
namespace {

using ir::Op;
using ir::OpKind;
using ir::RegionId;
using ir::Value;
using kernel::Unit;

// A region on the way through its units. `ours`: arrays that may be overwritten once nothing reads
// them any more: what the region made or carries, and what lives nowhere else.
struct Walk {
  std::unordered_set<uint32_t> ours;
  std::unordered_map<uint32_t, size_t> last_use = {};  // by root
  size_t unit = 0;
};

class Sharing {
 public:
  Sharing(const ir::Module& m, kernel::Cluster& cluster) : m_(m), cluster_(cluster) {
    for (const kernel::RegionUnits& r : cluster.regions) units_[r.region.index] = &r.units;
  }

  int64_t run() {
    const Op& op = m_.op(cluster_.ops.back());
    Walk outside;
    if (op.kind == OpKind::while_) {
      visitLoop(op);
    } else {
      visitBranches(op, outside);
    }
    for (auto [value, owner] : owner_) cluster_.shares.emplace_back(Value{value}, owner);
    std::sort(cluster_.shares.begin(), cluster_.shares.end(),
              [](auto& a, auto& b) { return a.first.index < b.first.index; });
    return copied_;
  }

 private:
  bool isArray(Value v) const { return m_.shape(v).elements() != 1; }

  Value root(Value v) const {
    for (auto at = view_of_.find(v.index); at != view_of_.end(); at = view_of_.find(v.index))
      v = at->second;
    return v;
  }

  // The value in whose memory v is.
  Value owner(Value v) const {
    for (;;) {
      v = root(v);
      auto at = owner_.find(v.index);
      if (at == owner_.end()) return v;
      v = at->second;
    }
  }

  void visit(RegionId id, Walk walk) {
    const std::vector<Unit>& units = *units_.at(id.index);
    for (const Unit& unit : units) noteView(unit);
    for (size_t u = 0; u < units.size(); ++u)
      for (Value v : readsOf(m_, units[u])) walk.last_use[root(v).index] = u;
    for (Value v : m_.region(id).results) walk.last_use[root(v).index] = units.size();
    for (walk.unit = 0; walk.unit < units.size(); ++walk.unit) visit(units[walk.unit], walk);
  }

  void noteView(const Unit& unit) {
    if (unit.is_cluster) return;
    const Op& op = m_.op(unit.op);
    if (op.kind != OpKind::reshape_ && op.kind != OpKind::optimization_barrier_) return;
    for (size_t i = 0; i < op.results.size(); ++i) view_of_[op.result(i).index] = op.operand(i);
  }

  void visit(const Unit& unit, Walk& walk) {
    const Op& op = unit.is_cluster ? *m_.def(unit.cluster.outputs[0]) : m_.op(unit.op);
    if (unit.is_cluster && kernel::isInPlace(unit.cluster.nest)) {
      for (size_t o = 0; o < op.results.size(); ++o) share(unit, op.result(o), op.operand(o), walk);
    } else if (unit.is_cluster) {
      for (Value v : unit.cluster.outputs) takeHome(unit.cluster, v, walk);
    } else if (op.kind == OpKind::while_) {
      for (size_t i = 0; i < op.results.size(); ++i) share(unit, op.result(i), op.operand(i), walk);
      visitLoop(op);
    } else if (!op.regions.empty() && !unit.is_cluster) {
      visitBranches(op, walk);
    }
    for (Value v : madeBy(m_, unit))
      if (!view_of_.contains(v.index)) walk.ours.insert(v.index);
  }

  // `result` in the memory of `before`, which the unit reads for the last time and only so.
  void share(const Unit& unit, Value result, Value before, const Walk& walk) {
    if (!isArray(before)) return;
    Value r = root(before);
    int64_t reads = 0;
    for (Value v : readsOf(m_, unit)) reads += root(v) == r;
    const bool once = reads == 1 && !readsOtherwise(unit, result, before);
    if (once && walk.ours.contains(r.index) && walk.last_use.at(r.index) == walk.unit)
      owner_[result.index] = before;
    else
      noteCopy(result);
  }

  // Made where the loop carries it, whose elements of the turn before are not needed any more once
  // those of this turn are written.
  void takeHome(const kernel::Cluster& cluster, Value made, const Walk& walk) {
    const auto at = home_.find(made.index);
    if (at == home_.end() || !isArray(made)) return;
    const Value home = at->second;
    for (const auto& [value, last] : walk.last_use)
      if (last > walk.unit && owner(Value{value}) == home) return;
    const std::vector<bool> identity = identityReads(m_, cluster, made);
    for (size_t i = 0; i < cluster.inputs.size(); ++i)
      if (owner(cluster.inputs[i]) == home && !identity[i]) return;
    owner_[made.index] = home;
  }

  bool readsOtherwise(const Unit& unit, Value result, Value before) const {
    if (unit.is_cluster)
      return readsElsewhere(m_, unit.cluster, *m_.def(result), m_.value(result).index);
    return std::ranges::count(m_.op(unit.op).operands, before) > 1;
  }

  void noteCopy(Value v) { copied_ = std::max(copied_, m_.shape(v).elements()); }

  void visitLoop(const Op& op) {
    const ir::Region& body = m_.region(op.regions[1]);
    visit(op.regions[0], Walk{});
    Walk walk;
    for (Value v : body.args) walk.ours.insert(v.index);
    for (size_t i = 0; i < body.args.size(); ++i)
      if (isArray(body.args[i])) home_.try_emplace(root(body.results[i]).index, body.args[i]);
    visit(op.regions[1], walk);
    for (size_t i = 0; i < body.args.size(); ++i)
      if (isArray(body.args[i]) && !(owner(body.results[i]) == body.args[i]))
        noteCopy(body.args[i]);
  }

  // What the branches read and nothing reads after them is theirs; a result may be made there.
  void visitBranches(const Op& op, Walk& walk) {
    std::vector<Value> lent;
    for (Value v : captures(m_, op)) {
      Value r = root(v);
      auto last = walk.last_use.find(r.index);
      bool dies = last != walk.last_use.end() && last->second == walk.unit;
      const bool is_new = std::ranges::count(lent, r) == 0;  // no other view of it before
      if (dies && is_new && walk.ours.contains(r.index)) lent.push_back(r);
    }
    Walk inside;
    for (Value v : lent) inside.ours.insert(v.index);
    for (RegionId region : op.regions) visit(region, inside);
    for (size_t i = 0; i < op.results.size(); ++i)
      if (isArray(op.result(i))) placeResult(op, i, lent);
  }

  void placeResult(const Op& op, size_t i, std::vector<Value>& lent) {
    const Shape& shape = m_.shape(op.result(i));
    for (RegionId region : op.regions) {
      Value made = owner(m_.region(region).results[i]);
      auto found = std::find_if(lent.begin(), lent.end(), [&](Value v) {
        return owner(v) == made && m_.shape(v).dtype == shape.dtype &&
               m_.shape(v).elements() == shape.elements();
      });
      if (found == lent.end()) continue;
      owner_[op.result(i).index] = *found;
      lent.erase(found);
      break;
    }
    for (RegionId region : op.regions)
      if (!(owner(m_.region(region).results[i]) == owner(op.result(i)))) noteCopy(op.result(i));
  }

  const ir::Module& m_;
  kernel::Cluster& cluster_;
  std::unordered_map<uint32_t, const std::vector<Unit>*> units_;
  std::unordered_map<uint32_t, Value> view_of_, owner_;
  std::unordered_map<uint32_t, Value> home_;  // by what a turn makes: where its loop carries it
  int64_t copied_ = 0;
};

}  // namespace

int64_t shareMemory(const ir::Module& m, kernel::Cluster& cluster) {
  return Sharing(m, cluster).run();
}

}  // namespace tercel::plan
