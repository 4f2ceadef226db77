#include "compiler/plan/fuse.h"

#include <algorithm>
#include <unordered_set>

#include "compiler/ir/prefix_scan.h"
#include "compiler/plan/from_memory.h"
#include "compiler/plan/groups.h"
#include "compiler/plan/made_before.h"
#include "compiler/plan/op_traits.h"
#include "compiler/plan/padded_products.h"
#include "compiler/plan/read_order.h"
#include "compiler/plan/shifts.h"
#include "compiler/plan/updated_readers.h"
#include "core/status.h"

namespace tercel::plan {
namespace {

using ir::Op;
using ir::OpKind;
using ir::Value;

constexpr size_t kMostMade = 8;  // by a group that is ahead of others

class Fusion {
 public:
  Fusion(const ir::Module& m, ir::RegionId region)
      : m_(m),
        region_id_(region),
        region_(m.region(region)),
        groups_(m, region),
        uses_(groups_.uses()),
        made_before_(m, region, uses_),
        shifts_(m, region, groups_) {}

  std::vector<Unit> run() {
    for (uint32_t p = count(); p-- > 0;) place(p);
    return groups_.units();
  }

 private:
  uint32_t count() const { return static_cast<uint32_t>(region_.ops.size()); }
  const Op& op(uint32_t p) const { return m_.op(region_.ops[p]); }

  void place(uint32_t p) {
    const Op& o = op(p);
    if (uses_.users(p).empty() && !uses_.escapes(p) && !isCallOrControl(o)) return;  // dead
    if (isMemoryConstant(o)) return;
    if (updatesInPlace(o.kind)) return startGroup(p, false);
    if (!isFusible(m_, o)) return startGroup(p, true);
    if (uses_.escapes(p)) return startGroup(p, o.kind == OpKind::reshape_);  // a view
    if (joinsManyOnes(m_, o) || joinsManyLines(m_, o)) return startGroup(p, false);
    std::vector<UsesIn> uses = groups_.usesByGroup(p);
    if (isDuplicable(m_, o)) return copyIntoUsers(p, uses);
    if (uses.size() > 1 && mayCopy(p, uses) &&
        (isSpreadOut(m_, o) || (followsFromMemory(p, uses) && mayDoAgain(p, uses))))
      return copyIntoUsers(p, uses);
    bool joins = uses.size() == 1 ? !groups_[uses[0].group].alone && join(p, uses[0])
                                  : joinEarlier(p, uses) || joinFirst(p, uses);
    if (!joins) startGroup(p, false);
  }

  bool mayCopy(uint32_t p, const std::vector<UsesIn>& uses) const {
    return std::ranges::all_of(uses, [&](const UsesIn& in) {
      return !groups_[in.group].alone && mayEvaluateInside(p, in);
    });
  }

  // Whether the groups can compute the value of one array in memory, and read no more for it: that is
  // no larger than the value, or all of them but one read it anyway.
  bool followsFromMemory(uint32_t p, const std::vector<UsesIn>& uses) const {
    const std::optional<Value> from = memoryBehind(m_, region_id_, uses_, p);
    if (!from) return false;
    if (m_.shape(*from).bytes() <= m_.shape(op(p).result()).bytes()) return true;
    auto reads = [&](const UsesIn& in) {
      return std::ranges::any_of(groups_[in.group].members, [&](uint32_t q) {
        return std::ranges::find(op(q).operands, *from) != op(q).operands.end();
      });
    };
    return std::ranges::count_if(uses, reads) + 1 >= static_cast<int64_t>(uses.size());
  }

  // Whether it is as cheap in each of them as where it stands. The epilogue of a product goes over
  // the few elements of a tile at a time.
  bool mayDoAgain(uint32_t p, const std::vector<UsesIn>& uses) const {
    constexpr double kPadded = 1.1;  // the domain of a pad is larger
    constexpr double kOften = 4;     // of neighbours, where it is a step
    const double weight = opWeight(m_, op(p)), repeats = weight <= 1 ? kOften : kPadded;
    return std::ranges::all_of(uses, [&](const UsesIn& in) {
      const Group& group = groups_[in.group];
      const AccessMap map = groups_.mapIn(p, in);
      const bool fits = group.weight + weight <= kMaxClusterWeight;
      const bool in_order = map.regular || !(map.turned || map.divided);
      if (!fits || keptApart(p, in.group) || !in_order || map.repeats > repeats) return false;
      return !group.has_heavy || (map.isIdentity(group.domain) && readsNumbersBeside(m_, op(p)));
    });
  }

  // Duplicable ops are part of each cluster that uses them; where one of the users is a step of its
  // own, the value needs memory and the op is a root besides.
  void copyIntoUsers(uint32_t p, const std::vector<UsesIn>& uses) {
    bool needs_memory = false;
    for (const UsesIn& in : uses) {
      if (groups_[in.group].alone || keptApart(p, in.group) || isTurnedForProducts(p, in) ||
          isUpdated(p, in)) {
        needs_memory = true;
      } else {
        groups_.addCopy(p, in.group, groups_.mapIn(p, in));
        if (!isDuplicable(m_, op(p))) groups_[in.group].weight += opWeight(m_, op(p));
      }
    }
    if (needs_memory) startGroup(p, op(p).kind == OpKind::reshape_);
  }

  bool join(uint32_t p, const UsesIn& in) {
    Group& group = groups_[in.group];
    const Op& o = op(p);
    double weight = opWeight(m_, o);
    if (keptApart(p, in.group) || !mayEvaluateInside(p, in)) return false;
    if (group.adds_product && addsProduct(o)) return false;
    const Op& root = op(group.members.front());
    if (root.kind == OpKind::scatter_ && !joinsScatter(m_, o, root)) return false;
    AccessMap map = groups_.mapIn(p, in);
    if (const auto places = isFar(m_, o) && !map.regular ? shifts_.count(p, in) : std::nullopt)
      map.repeats = std::min(map.repeats, static_cast<double>(*places));
    const bool is_large = m_.shape(o.results[0]).elements() > kFew;
    if (map.turned && is_large && arraysRead(o) > 1) return false;  // all of them, once again
    if (map.divided && is_large && needsCoordinates(o)) return false;
    if (!fits(in.group, weight) || (group.ahead != kNoGroup && arraysRead(o) > 1))
      return joinAhead(p, in.group, map);
    if (group.makes > 0 && (isHeavy(o.kind) || o.kind == OpKind::reduce_)) return false;
    if (isHeavy(o.kind)) {
      if (group.has_heavy || group.has_reduce || !map.isIdentity(group.domain)) return false;
      if (group.is_update && isWorthTiles(o)) return false;
    } else if (o.kind == OpKind::reduce_) {
      if (isBetterApart(p, in.group, map) || !joinReduce(o, map, group)) return false;
    } else if ((map.repeats > allowedRepeats(m_, o) && !isPlaced(p, in)) ||
               made_before_.isBetter(p, groups_[in.group], map)) {
      return false;
    }
    group.has_heavy |= isHeavy(o.kind);
    group.weight += weight;
    own(p, in.group, map);
    return true;
  }

  // Rather than the place of an element in memory.
  static bool needsCoordinates(const Op& o) {
    return o.kind == OpKind::pad_ || o.kind == OpKind::transpose_ || o.kind == OpKind::concatenate_;
  }

  // By a nest of its own, which then is more than the copy of its result.
  bool isWorthTiles(const Op& o) const {
    constexpr double kManyProducts = 16e3;
    return ir::prefixScan(m_, o) ||
           (o.kind == OpKind::dot_general_ && productsOf(m_, o) > kManyProducts);
  }

  // Short loops of ops that wait for each other overlap from element to element, a long one not.
  static bool isChain(const Group& group) {
    constexpr double kLittleBeside = 1.2;
    return staysNear(group.domain.extents) && group.weight < kLittleBeside * group.path;
  }

  // A loop is cut where little has to go through memory.
  bool fits(uint32_t g, double weight) const {
    const Group& group = groups_[g];
    const bool is_loop = !group.has_heavy && !group.has_reduce;
    const double most = is_loop ? maxLoopWeight(group.domain.extents) : kMaxClusterWeight;
    if (group.weight + weight <= most) return true;
    return is_loop && group.weight + weight <= maxWideLoopWeight(group.domain.extents) &&
           !isChain(group) && groups_.awaitsMoreThan(narrowCut(group.domain.extents), g);
  }

  size_t arraysRead(const Op& o) const {
    return static_cast<size_t>(std::ranges::count_if(o.operands, [&](Value v) {
      const Op* made = m_.def(v);
      return !made || !isDuplicable(m_, *made);
    }));
  }

  // What is too much for a loop is made in another one ahead of it, all of it in the same: of a long
  // sum, the part so far goes through memory, not each of the terms.
  bool joinAhead(uint32_t p, uint32_t g, const AccessMap& map) {
    const Op& o = op(p);
    if (groups_[g].has_heavy || groups_[g].has_reduce || groups_[g].is_update) return false;
    if (!ir::isElementwise(o.kind) || addsProduct(o) || !map.isIdentity(groups_[g].domain))
      return false;
    do {
      const uint32_t before = g;
      g = groups_[before].ahead;
      if (g == kNoGroup) {
        startGroup(p, false);
        groups_[before].ahead = groups_.ownerOf(p);
        groups_[groups_.ownerOf(p)].makes = 1;
        return true;
      }
    } while (!fits(g, opWeight(m_, o)) || groups_[g].makes == kMostMade);
    ++groups_[g].makes;
    groups_[g].weight += opWeight(m_, o);
    own(p, g, map);
    return true;
  }

  // What a loop and the one ahead of it need is made in the earlier one.
  bool joinEarlier(uint32_t p, const std::vector<UsesIn>& uses) {
    if (uses.size() != 2) return false;
    const bool is_first = groups_[uses[1].group].ahead == uses[0].group;
    if (!is_first && groups_[uses[0].group].ahead != uses[1].group) return false;
    const UsesIn& in = uses[is_first ? 0 : 1];
    const Group& group = groups_[in.group];
    if (!ir::isElementwise(op(p).kind)) return false;
    if (!groups_.mapIn(p, in).isIdentity(group.domain)) return false;
    if (group.makes == kMostMade || !join(p, in)) return false;
    ++groups_[groups_.ownerOf(p)].makes;
    return true;
  }

  // What several groups need is made in the first of them, where each element is evaluated once, and
  // read by those that follow: of a softmax that is kept for a gradient, in the pass over its rows.
  bool joinFirst(uint32_t p, const std::vector<UsesIn>& uses) {
    if (uses.empty() || !ir::isElementwise(op(p).kind)) return false;
    const UsesIn& in = *std::ranges::min_element(uses, {}, [&](const UsesIn& use) {
      return groups_[use.group].members.front();
    });
    const Group& group = groups_[in.group];
    if (group.alone || !group.has_reduce || group.has_heavy || group.is_update) return false;
    return isOutput(groups_.mapIn(p, in), group.domain) && join(p, in);
  }

  // Whether a value so indexed is one that a kernel of the domain may store: whole, or of its rows.
  bool isOutput(const AccessMap& map, const Domain& domain) const {
    if (map.isIdentity(domain)) return true;
    const AccessMap identity = AccessMap::identity(domain);
    SmallVector<int32_t, 6> kept;
    for (size_t d = 0; d < domain.extents.size(); ++d)
      if (!domain.reduced[d]) kept.push_back(identity.dims[d]);
    return map.regular && map.dims == kept;
  }

  // Of a group's products one joins it. Others are better off with what is done to them first, as in
  // a long sum of products, each of which then adds to the sum before it.
  bool addsProduct(const Op& o) const {
    return ir::isElementwise(o.kind) && std::ranges::any_of(o.operands, [&](Value v) {
      auto made = uses_.positionOf(v);
      return made && isHeavy(op(*made).kind) && uses_.users(*made).size() == 1 &&
             !uses_.escapes(*made);
    });
  }

  // What is computed from the sums of short rows is computed of one sum at a time beside them, of a
  // vector of sums apart from them.
  bool isBetterApart(uint32_t p, uint32_t g, const AccessMap& map) const {
    constexpr double kCostly = 16;
    constexpr int64_t kManyRows = 512, kShortestRow = 8, kLongestRow = 512;
    const Group& group = groups_[g];
    if (group.has_reduce || group.weight < kCostly || !map.isIdentity(group.domain)) return false;
    const Dims& operand = m_.shape(op(p).operand(0)).dims;
    const int64_t rows = m_.shape(op(p).results[0]).elements();
    const int64_t row = rows == 0 ? 0 : elementCount(operand) / rows;
    const ir::Ints& reduced = op(p).ints(ir::AttrKey::dimensions);
    const auto last = static_cast<int64_t>(operand.size()) - 1;
    return std::ranges::find(reduced, last) != reduced.end() && rows >= kManyRows &&
           row >= kShortestRow && row <= kLongestRow && !readsOtherReduction(p, g);
  }

  // Whether a group computes with a reduction before p too, which is then made together with p's.
  bool readsOtherReduction(uint32_t p, uint32_t g) const {
    std::vector<uint32_t> ahead;
    std::unordered_set<uint32_t> seen = {p};
    auto look = [&](uint32_t from) {
      for (Value v : op(from).operands)
        if (auto made = uses_.positionOf(v); made && *made < p && seen.insert(*made).second)
          ahead.push_back(*made);
    };
    for (uint32_t member : groups_[g].members) look(member);
    while (!ahead.empty()) {
      const uint32_t q = ahead.back();
      ahead.pop_back();
      if (op(q).kind == OpKind::reduce_) return true;
      if (ir::isElementwise(op(q).kind) || isFreeMovement(op(q).kind)) look(q);
    }
    return false;
  }

  // A reduction joins where each of its elements is needed once for each row of the domain, which
  // those over no dimensions do not have.
  bool joinReduce(const Op& o, const AccessMap& map, Group& group) {
    if (group.is_update || group.has_heavy || !map.regular) return false;
    if (group.has_reduce && !group.domain.hasReduced()) return false;
    Domain extended = group.domain;
    if (!extendForReduce(m_, o, map, extended)) return false;
    group.domain = extended;
    group.has_reduce = true;
    return true;
  }

  // Operands of dots, convolutions and windows are read many times: only movement joins those.
  bool mayEvaluateInside(uint32_t p, const UsesIn& in) const {
    return std::ranges::none_of(in.users,
                                [&](uint32_t u) {
                                  return rereadsOperands(m_, op(u)) &&
                                         !isFreeMovement(op(p).kind) && !isPlaced(p, in);
                                }) &&
           !isTurnedForProducts(p, in) && !isUpdated(p, in) && !isOfManyScattered(p, in);
  }

  // A slice of an array in memory, where only its first element is to be found out: not a column.
  bool isPlaced(uint32_t p, const UsesIn& in) const {
    const Op& o = op(p);
    if (o.kind != OpKind::dynamic_slice_ || isColumn(m_, o)) return false;
    return std::ranges::all_of(in.users, [&](uint32_t u) {
      return op(u).kind == OpKind::dot_general_ || isFreeMovement(op(u).kind);
    });
  }

  // What turns an operand of a convolution, or a large one of a product, is done once, before: tasks
  // read these again and again, in lines. So is what lets a sum over several dimensions go in order.
  bool isTurnedForProducts(uint32_t p, const UsesIn& in) const {
    constexpr int64_t kLarge = 64 << 10;
    OpKind kind = op(p).kind;
    if (kind != OpKind::transpose_ && kind != OpKind::reverse_) return false;
    bool large = m_.shape(op(p).result()).elements() >= kLarge;
    return std::ranges::any_of(in.users, [&](uint32_t u) {
      if (op(u).kind == OpKind::convolution_) return true;
      return op(u).kind == OpKind::dot_general_ &&
             (large || op(u).ints(ir::AttrKey::lhs_contracting_dimensions).size() > 1);
    });
  }

  // The first operand of a dynamic_update_slice or a scatter is updated in place, not read.
  bool isUpdated(uint32_t p, const UsesIn& in) const {
    return std::ranges::any_of(in.users, [&](uint32_t u) {
      if (!updatesInPlace(op(u).kind)) return false;
      const auto updated = std::span(op(u).operands).first(op(u).results.size());
      return std::ranges::any_of(updated, [&](Value v) { return groups_.isMadeAt(p, v); });
    });
  }

  // Of a scatter into several arrays, or its body alone needs it.
  bool isOfManyScattered(uint32_t p, const UsesIn& in) const {
    return std::ranges::any_of(in.users, [&](uint32_t u) {
      if (op(u).kind != OpKind::scatter_) return false;
      auto made = [&](Value v) { return groups_.isMadeAt(p, v); };
      return op(u).results.size() > 1 || std::ranges::none_of(op(u).operands, made);
    });
  }

  bool keptApart(uint32_t p, uint32_t g) const {
    const Group& group = groups_[g];
    if (group.takes_lines && !groups_.fitsLines(p, g)) return true;
    return !group.apart.empty() && group.apart[p];
  }

  void own(uint32_t p, uint32_t g, AccessMap map) {
    groups_[g].adds_product |= addsProduct(op(p));
    groups_.own(p, g, std::move(map));
  }

  void startGroup(uint32_t p, bool alone) {
    const uint32_t g = groups_.add();
    groups_[g].alone = alone;
    const Op& o = op(p);
    if (!o.results.empty()) groups_[g].domain = Domain::of(domainDims(o));
    AccessMap map = AccessMap::identity(groups_[g].domain);
    if (!alone && o.kind == OpKind::reduce_ && joinReduce(o, map, groups_[g]))
      map = AccessMap::identity(Domain::of(m_.shape(o.result()).dims));
    groups_[g].has_heavy = isHeavy(o.kind);
    groups_[g].is_update = updatesInPlace(o.kind);
    groups_[g].takes_lines = !alone && joinsManyLines(m_, o);
    if (groups_[g].is_update) groups_[g].apart = readersOfUpdated(m_, region_id_, uses_, p);
    groups_[g].weight = opWeight(m_, o);
    own(p, g, map);
  }

  const Dims& domainDims(const Op& o) const {
    if (o.kind == OpKind::dynamic_update_slice_) return m_.shape(o.operand(1)).dims;
    if (o.kind == OpKind::scatter_) return m_.shape(o.operands.back()).dims;
    return m_.shape(padsProduct(m_, uses_, o) ? o.operand(0) : o.result()).dims;
  }

  const ir::Module& m_;
  const ir::RegionId region_id_;
  const ir::Region& region_;
  Groups groups_;
  const RegionUses& uses_;
  const MadeBefore made_before_;
  Shifts shifts_;
};

}  // namespace

std::vector<Unit> fuse(const ir::Module& module, ir::RegionId region) {
  std::vector<Unit> units = Fusion(module, region).run();
  readBeforeUpdate(module, units);
  return units;
}

}  // namespace tercel::plan
