#include "compiler/plan/fuse.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "compiler/ir/prefix_scan.h"
#include "compiler/plan/access_map.h"
#include "compiler/plan/op_traits.h"
#include "compiler/plan/read_order.h"
#include "core/status.h"

namespace tercel::plan {
namespace {

using ir::Op;
using ir::OpId;
using ir::OpKind;
using ir::Value;

constexpr uint32_t kNone = 0xffffffffu;

struct Group {
  std::vector<uint32_t> members;  // positions, descending
  Domain domain;
  double weight = 0;
  bool has_heavy = false;      // a dot, convolution, window: evaluated at each element
  bool has_reduce = false;
  bool is_update = false;      // a dynamic_update_slice in place
  bool alone = false;          // never joined by others (a step of its own)
  std::vector<bool> apart;     // positions that read what it updates: kept out, to update in place
};

class Fusion {
 public:
  Fusion(const ir::Module& m, ir::RegionId region)
      : m_(m), region_id_(region), region_(m.region(region)) {}

  std::vector<Unit> run() {
    number();
    collectUses();
    for (uint32_t p = count(); p-- > 0;) place(p);
    return units();
  }

 private:
  uint32_t count() const { return static_cast<uint32_t>(region_.ops.size()); }
  const Op& op(uint32_t p) const { return m_.op(region_.ops[p]); }

  void number() {
    position_.reserve(count() * 2);
    for (uint32_t p = 0; p < count(); ++p)
      for (Value v : op(p).results) position_.emplace(v.index, p);
    users_.resize(count());
    escapes_.assign(count(), false);
    group_of_.assign(count(), kNone);
    duplicates_.resize(count());
  }

  // Uses by ops inside nested regions count as uses by the op that holds the region.
  void collectUses() {
    for (uint32_t p = 0; p < count(); ++p) noteUses(op(p), p);
    for (Value v : region_.results)
      if (auto at = position_.find(v.index); at != position_.end()) escapes_[at->second] = true;
  }

  void noteUses(const Op& user, uint32_t p) {
    for (Value v : user.operands) noteUse(v, p);
    for (ir::RegionId r : user.regions) {
      for (OpId inner : m_.region(r).ops) noteUses(m_.op(inner), p);
      for (Value v : m_.region(r).results) noteUse(v, p);
    }
  }

  void noteUse(Value v, uint32_t p) {
    auto at = position_.find(v.index);
    if (at == position_.end() || at->second == p) return;
    auto& list = users_[at->second];
    if (list.empty() || list.back() != p) list.push_back(p);
  }

  void place(uint32_t p) {
    const Op& o = op(p);
    if (users_[p].empty() && !escapes_[p] && !hasEffect(o)) return;  // dead
    if (isMemoryConstant(o)) return;
    if (!isFusible(m_, o)) return startGroup(p, true);
    if (o.kind == OpKind::reshape_ && escapes_[p]) return startGroup(p, true);  // a view
    if (o.kind == OpKind::dynamic_update_slice_) return startGroup(p, false);
    if (isDuplicable(m_, o) && !escapes_[p]) {
      if (copyIntoUsers(p)) return;
    }
    if (isSpreadOut(m_, o) && !escapes_[p] && userGroups(p).size() > 1 && mayCopy(p)) {
      copyIntoUsers(p);
      return;
    }
    uint32_t g = commonGroup(p);
    if (g != kNone && !escapes_[p] && join(p, g)) return;
    startGroup(p, false);
  }

  bool mayCopy(uint32_t p) const {
    return std::ranges::all_of(userGroups(p), [&](uint32_t g) {
      return !groups_[g].alone && mayEvaluateInside(p, g);
    });
  }

  // Duplicable ops are part of each cluster that uses them; where one of the users is a step of its
  // own, the value needs memory and the op is a root besides.
  bool copyIntoUsers(uint32_t p) {
    bool all = true;
    for (uint32_t g : userGroups(p)) {
      if (groups_[g].alone || keptApart(p, g) || rereadsInOrder(p, g) || isUpdatedIn(p, g)) {
        all = false;
      } else {
        AccessMap map = mapIn(p, g);
        groups_[g].members.push_back(p);
        inner_maps_[key(p, g)] = map;
        duplicates_[p].push_back(g);
      }
    }
    if (all) return true;
    startGroup(p, op(p).kind == OpKind::reshape_);
    return true;
  }

  std::vector<uint32_t> userGroups(uint32_t p) const {
    std::vector<uint32_t> groups;
    for (uint32_t u : users_[p]) {
      auto add = [&](uint32_t g) {
        if (g != kNone && std::find(groups.begin(), groups.end(), g) == groups.end())
          groups.push_back(g);
      };
      add(group_of_[u]);
      for (uint32_t g : duplicates_[u]) add(g);
    }
    return groups;
  }

  uint32_t commonGroup(uint32_t p) const {
    std::vector<uint32_t> groups = userGroups(p);
    return groups.size() == 1 && !groups_[groups[0]].alone ? groups[0] : kNone;
  }

  static uint64_t key(uint32_t p, uint32_t g) { return uint64_t{g} << 32 | p; }

  const AccessMap& mapOf(uint32_t p, uint32_t g) const { return inner_maps_.at(key(p, g)); }
  bool isIn(uint32_t p, uint32_t g) const { return inner_maps_.contains(key(p, g)); }

  // How the value of p is indexed from the domain of g, through all its users there.
  AccessMap mapIn(uint32_t p, uint32_t g) {
    AccessMap map;
    bool first = true;
    for (uint32_t u : users_[p]) {
      if (!isIn(u, g)) continue;
      const Op& user = op(u);
      for (size_t i = 0; i < user.operands.size(); ++i) {
        auto at = position_.find(user.operands[i].index);
        if (at == position_.end() || at->second != p) continue;
        AccessMap through =
            operandMap(m_, user, i, mapOf(u, g), groups_[g].domain);
        map = first ? through : meet(map, through);
        first = false;
      }
    }
    return map;
  }

  bool join(uint32_t p, uint32_t g) {
    Group& group = groups_[g];
    const Op& o = op(p);
    double weight = opWeight(m_, o);
    bool is_loop = !group.has_heavy && !group.has_reduce;
    double limit = is_loop ? maxLoopWeight(group.domain.extents) : kMaxClusterWeight;
    if (group.weight + weight > limit) return false;
    if (keptApart(p, g) || !mayEvaluateInside(p, g)) return false;
    AccessMap map = mapIn(p, g);
    if (isHeavy(o.kind)) {
      if (group.has_heavy || group.has_reduce || !map.isIdentity(group.domain)) return false;
      if (group.is_update && ir::prefixScan(m_, o)) return false;
    } else if (o.kind == OpKind::reduce_) {
      if (!joinReduce(o, map, group)) return false;
    } else if (map.repeats > allowedRepeats(m_, o)) {
      return false;
    }
    group.has_heavy |= isHeavy(o.kind);
    group.weight += weight;
    add(p, g, map);
    return true;
  }

  // A reduction joins where each of its elements is needed once for each row of the domain.
  bool joinReduce(const Op& o, const AccessMap& map, Group& group) {
    if (group.is_update || group.has_heavy || !map.regular) return false;
    Domain extended = group.domain;
    if (!extendForReduce(m_, o, map, extended)) return false;
    group.domain = extended;
    group.has_reduce = true;
    return true;
  }

  // Operands of dots, convolutions and windows are read many times: only movement joins those.
  bool mayEvaluateInside(uint32_t p, uint32_t g) const {
    for (uint32_t u : users_[p]) {
      if (!isIn(u, g)) continue;
      const Op& user = op(u);
      if (rereadsOperands(m_, user) && !isFreeMovement(op(p).kind)) return false;
      if (readsInOrder(p, user)) return false;
    }
    return !isUpdatedIn(p, g);
  }

  // The first operand of a dynamic_update_slice is updated in place, not read.
  bool isUpdatedIn(uint32_t p, uint32_t g) const {
    return std::ranges::any_of(users_[p], [&](uint32_t u) {
      return isIn(u, g) && op(u).kind == OpKind::dynamic_update_slice_ &&
             m_.value(op(u).operand(0)).def == region_.ops[p];
    });
  }

  bool keptApart(uint32_t p, uint32_t g) const {
    return !groups_[g].apart.empty() && groups_[g].apart[p];
  }

  // An array, and what earlier updates made it from: all of it may be one piece of memory.
  std::unordered_set<uint32_t> historyOf(Value v) const {
    std::unordered_set<uint32_t> history = {v.index};
    for (const Op* def = m_.def(v);
         def && (def->kind == OpKind::dynamic_update_slice_ || def->kind == OpKind::scatter_);
         def = m_.def(v)) {
      v = def->operand(m_.value(v).index);
      history.insert(v.index);
    }
    return history;
  }

  // What depends on the array that the update at p writes to, where that may die there. Of long
  // programs the last part is looked at.
  std::vector<bool> readersOfUpdated(uint32_t p) const {
    constexpr uint32_t kLookBack = 500;
    std::unordered_set<uint32_t> history = historyOf(op(p).operand(0));
    bool carried = !(region_id_ == m_.main().body) &&
                   std::ranges::any_of(region_.args,
                                       [&](Value v) { return history.contains(v.index); });
    if (!carried && !position_.contains(op(p).operand(0).index)) return {};
    std::vector<bool> reads(count(), false);
    for (uint32_t q = p > kLookBack ? p - kLookBack : 0; q < p; ++q) {
      if (!op(q).results.empty() && history.contains(op(q).result().index)) continue;
      for (Value v : op(q).operands) {
        auto at = position_.find(v.index);
        if (history.contains(v.index) || (at != position_.end() && reads[at->second]))
          reads[q] = true;
      }
    }
    return reads;
  }

  // Each task of a convolution reads the whole kernel: what turns it is done once, before.
  bool readsInOrder(uint32_t p, const Op& user) const {
    OpKind kind = op(p).kind;
    return user.kind == OpKind::convolution_ && m_.value(user.operand(1)).def == region_.ops[p] &&
           (kind == OpKind::transpose_ || kind == OpKind::reverse_);
  }

  bool rereadsInOrder(uint32_t p, uint32_t g) const {
    return std::ranges::any_of(users_[p],
                               [&](uint32_t u) { return isIn(u, g) && readsInOrder(p, op(u)); });
  }

  void add(uint32_t p, uint32_t g, AccessMap map) {
    groups_[g].members.push_back(p);
    group_of_[p] = g;
    inner_maps_[key(p, g)] = std::move(map);
  }

  void startGroup(uint32_t p, bool alone) {
    uint32_t g = static_cast<uint32_t>(groups_.size());
    groups_.emplace_back();
    groups_[g].alone = alone;
    const Op& o = op(p);
    if (!o.results.empty()) groups_[g].domain = Domain::of(domainDims(o));
    AccessMap map = AccessMap::identity(groups_[g].domain);
    if (!alone && o.kind == OpKind::reduce_ && joinReduce(o, map, groups_[g]))
      map = AccessMap::identity(Domain::of(m_.shape(o.result()).dims));
    groups_[g].has_heavy = isHeavy(o.kind);
    groups_[g].is_update = o.kind == OpKind::dynamic_update_slice_;
    if (groups_[g].is_update) groups_[g].apart = readersOfUpdated(p);
    groups_[g].weight = opWeight(m_, o);
    add(p, g, map);
  }

  const Dims& domainDims(const Op& o) const {
    return m_.shape(o.kind == OpKind::dynamic_update_slice_ ? o.operand(1) : o.result()).dims;
  }

  // Groups in the order of their last member: each then follows all it reads, because a member that
  // is not the last feeds only its own group.
  std::vector<Unit> units() {
    std::vector<uint32_t> order(groups_.size());
    for (uint32_t g = 0; g < order.size(); ++g) order[g] = g;
    std::sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) {
      return groups_[a].members.front() < groups_[b].members.front();
    });
    std::vector<Unit> result;
    for (uint32_t g : order) result.push_back(unit(g));
    return result;
  }

  Unit unit(uint32_t g) {
    Unit u;
    Group& group = groups_[g];
    if (group.alone) {
      u.is_cluster = false;
      u.op = region_.ops[group.members[0]];
      return u;
    }
    std::sort(group.members.begin(), group.members.end());
    for (uint32_t p : group.members) {
      u.cluster.ops.push_back(region_.ops[p]);
      const AccessMap& map = mapOf(p, g);
      u.cluster.maps.emplace_back();
      if (map.regular) u.cluster.maps.back().assign(map.dims.begin(), map.dims.end());
    }
    u.cluster.nest = group.has_reduce ? kernel::Nest::rows : kernel::Nest::loop;
    for (uint32_t p : group.members)
      if (op(p).kind == OpKind::dot_general_ || op(p).kind == OpKind::convolution_)
        u.cluster.nest = kernel::Nest::contract;
      else if (ir::prefixScan(m_, op(p)))
        u.cluster.nest = kernel::Nest::scan;
    if (op(group.members.back()).kind == OpKind::dynamic_update_slice_)
      u.cluster.nest = kernel::Nest::update;
    u.cluster.domain = group.domain.extents;
    u.cluster.reduced = group.domain.reduced;
    for (uint32_t p : group.members)
      if (group_of_[p] == g && (escapes_[p] || usedOutside(p, g)))
        for (Value v : op(p).results) u.cluster.outputs.push_back(v);
    collectInputs(u.cluster, group);
    u.cluster.alias.assign(u.cluster.outputs.size(), -1);
    return u;
  }

  bool usedOutside(uint32_t p, uint32_t g) const {
    for (uint32_t other : userGroups(p))
      if (other != g) return true;
    return false;
  }

  void collectInputs(kernel::Cluster& cluster, const Group& group) {
    std::unordered_map<uint32_t, bool> inside;
    for (uint32_t p : group.members)
      for (Value v : op(p).results) inside[v.index] = true;
    auto note = [&](Value v) {
      if (inside.contains(v.index) || m_.type(v).is_token) return;
      inside[v.index] = true;
      cluster.inputs.push_back(v);
    };
    for (uint32_t p : group.members) {
      for (Value v : op(p).operands) note(v);
      noteCaptures(op(p), inside, note);
    }
  }

  // Values from outside that the regions of an op read.
  template <class Note>
  void noteCaptures(const Op& o, std::unordered_map<uint32_t, bool>& inside, Note& note) {
    for (ir::RegionId r : o.regions) {
      const ir::Region& region = m_.region(r);
      for (Value v : region.args) inside[v.index] = true;
      for (OpId id : region.ops) {
        for (Value v : m_.op(id).results) inside[v.index] = true;
        for (Value v : m_.op(id).operands) note(v);
        noteCaptures(m_.op(id), inside, note);
      }
    }
  }

  const ir::Module& m_;
  const ir::RegionId region_id_;
  const ir::Region& region_;
  std::unordered_map<uint32_t, uint32_t> position_;
  std::vector<std::vector<uint32_t>> users_;
  std::vector<bool> escapes_;
  std::vector<uint32_t> group_of_;
  std::vector<std::vector<uint32_t>> duplicates_;  // groups that hold a copy of a duplicable op
  std::vector<Group> groups_;
  std::unordered_map<uint64_t, AccessMap> inner_maps_;
};

}  // namespace

std::vector<Unit> fuse(const ir::Module& module, ir::RegionId region) {
  std::vector<Unit> units = Fusion(module, region).run();
  readBeforeUpdate(module, units);
  return units;
}

}  // namespace tercel::plan
