#include "compiler/plan/groups.h"

#include <algorithm>
#include <ranges>
#include <unordered_set>

#include "compiler/ir/prefix_scan.h"
#include "compiler/kernel/thin_rows.h"
#include "compiler/plan/captures.h"
#include "compiler/plan/op_traits.h"

namespace tercel::plan {

using ir::Op;
using ir::OpId;
using ir::OpKind;
using ir::Value;
using kernel::Unit;

uint32_t Groups::add() {
  groups_.emplace_back();
  return static_cast<uint32_t>(groups_.size() - 1);
}

void Groups::addMember(uint32_t p, uint32_t g, AccessMap map) {
  groups_[g].members.push_back(p);
  inner_maps_[key(p, g)] = std::move(map);
}

void Groups::own(uint32_t p, uint32_t g, AccessMap map) {
  owner_[p] = g;
  for (uint32_t u : uses_.users(p))
    if (owner_[u] == g) path_[p] = std::max(path_[p], path_[u]);
  path_[p] += opWeight(m_, op(p));
  groups_[g].path = std::max(groups_[g].path, path_[p]);
  addMember(p, g, std::move(map));
}

void Groups::addCopy(uint32_t p, uint32_t g, AccessMap map) {
  copies_[p].push_back(g);
  addMember(p, g, std::move(map));
}

std::vector<UsesIn> Groups::usesByGroup(uint32_t p) {
  std::vector<UsesIn> found;
  seen_.resize(groups_.size(), {kNoGroup, 0});
  auto add = [&](uint32_t g, uint32_t user) {
    if (g == kNoGroup) return;
    if (seen_[g].first != p) {
      seen_[g] = {p, found.size()};
      found.push_back({g, {}});
    }
    found[seen_[g].second].users.push_back(user);
  };
  for (uint32_t u : uses_.users(p)) {
    add(owner_[u], u);
    for (uint32_t g : copies_[u]) add(g, u);
  }
  return found;
}

// Whether a loop over rows of a few elements evaluates each of the operands for itself.
bool Groups::isJoinedOnce(const Op& user, const Group& group) const {
  if (group.takes_lines) return user.kind == OpKind::concatenate_;
  const Dims& extents = group.domain.extents;
  return !group.has_heavy && !group.has_reduce && !group.is_update && !extents.empty() &&
         extents.back() <= kernel::kLongestThinRow && joinsOnes(m_, user);
}

// Whether a concatenation's operand is evaluated where it is taken: loops branch or are cut, where
// lines are added up or scanned each lane is looked at.
bool Groups::isTakenByBranches(const Op& user, size_t operand, const Group& group) const {
  constexpr int64_t kRun = 64;
  if (user.kind != OpKind::concatenate_ || group.has_heavy) return false;
  if (isComplex(m_.shape(user.result()).dtype)) return false;
  if (group.has_reduce && uses_.users(*uses_.positionOf(user.result())).size() > 1) return false;
  const Dims& dims = m_.shape(user.operand(operand)).dims;
  const auto along = static_cast<size_t>(user.integer(ir::AttrKey::dimension));
  return elementCount(std::span(dims).subspan(group.has_reduce ? along + 1 : along)) >= kRun;
}

bool Groups::fitsLines(uint32_t p, uint32_t g) const {
  constexpr int64_t kMostOps = 4;  // for each element
  if (!goesInLines(m_, op(p))) return false;
  int64_t elements = m_.shape(op(p).result()).elements();
  for (uint32_t q : groups_[g].members) elements += m_.shape(op(q).result()).elements();
  return elements <= kMostOps * elementCount(groups_[g].domain.extents);
}

AccessMap Groups::mapIn(uint32_t p, const UsesIn& in) const {
  AccessMap map;
  bool first = true;
  for (uint32_t u : in.users) {
    const Op& user = op(u);
    for (size_t i = 0; i < user.operands.size(); ++i) {
      if (!isMadeAt(p, user.operands[i])) continue;
      const AccessMap& result = mapOf(u, in.group);
      AccessMap through = operandMap(m_, user, i, result, groups_[in.group].domain);
      if (isJoinedOnce(user, groups_[in.group]) || isTakenByBranches(user, i, groups_[in.group]))
        through.repeats = result.repeats;
      map = first ? through : meet(map, through);
      first = false;
      if (ir::isElementwise(user.kind)) break;  // all of its operands at one place
    }
  }
  return map;
}

bool Groups::awaitsMoreThan(size_t count, uint32_t g) const {
  SmallVector<uint32_t, 8> awaited;
  const int64_t elements = elementCount(groups_[g].domain.extents);
  for (uint32_t member : groups_[g].members | std::views::reverse)  // those that came last
    for (Value v : op(member).operands) {
      const auto made = uses_.positionOf(v);
      if (!made || owner_[*made] != kNoGroup || isIn(*made, g) ||
          !ir::isElementwise(op(*made).kind) || m_.shape(v).elements() != elements ||
          std::ranges::find(awaited, *made) != awaited.end())
        continue;
      awaited.push_back(*made);
      if (awaited.size() > count) return true;
    }
  return false;
}

// A member that is not the last feeds only its own group, or one that follows.
std::vector<Unit> Groups::units() {
  std::vector<uint32_t> order(groups_.size());
  for (uint32_t g = 0; g < order.size(); ++g) order[g] = g;
  std::sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) {
    return groups_[a].members.front() < groups_[b].members.front();
  });
  std::vector<Unit> result;
  for (uint32_t g : order) result.push_back(unit(g));
  return result;
}

Unit Groups::unit(uint32_t g) {
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
  u.cluster.nest = nestOf(group);
  u.cluster.domain = group.domain.extents;
  u.cluster.reduced = group.domain.reduced;
  for (uint32_t p : group.members)
    if (owner_[p] == g && (uses_.escapes(p) || usedOutside(p, g)))
      std::ranges::copy_if(op(p).results, std::back_inserter(u.cluster.outputs),
                           [&](Value v) { return uses_.isRead(v); });
  collectInputs(u.cluster);
  u.cluster.alias.assign(u.cluster.outputs.size(), -1);
  return u;
}

kernel::Nest Groups::nestOf(const Group& group) const {
  if (group.is_update)
    return op(group.members.back()).kind == OpKind::scatter_ ? kernel::Nest::scatter
                                                             : kernel::Nest::update;
  kernel::Nest nest = group.has_reduce ? kernel::Nest::rows : kernel::Nest::loop;
  for (uint32_t p : group.members)
    if (op(p).kind == OpKind::dot_general_ || op(p).kind == OpKind::convolution_)
      nest = kernel::Nest::contract;
    else if (ir::prefixScan(m_, op(p)))
      nest = kernel::Nest::scan;
  return nest;
}

bool Groups::usedOutside(uint32_t p, uint32_t g) const {
  auto elsewhere = [&](uint32_t other) { return other != kNoGroup && other != g; };
  return std::ranges::any_of(uses_.users(p), [&](uint32_t u) {
    return elsewhere(owner_[u]) || std::ranges::any_of(copies_[u], elsewhere);
  });
}

void Groups::collectInputs(kernel::Cluster& cluster) const {
  std::unordered_set<uint32_t> known;
  for (OpId id : cluster.ops)
    for (Value v : m_.op(id).results) known.insert(v.index);
  auto note = [&](Value v) {
    if (!m_.type(v).is_token && known.insert(v.index).second) cluster.inputs.push_back(v);
  };
  for (OpId id : cluster.ops) {
    for (Value v : m_.op(id).operands) note(v);
    for (Value v : captures(m_, m_.op(id))) note(v);
  }
}

}  // namespace tercel::plan
