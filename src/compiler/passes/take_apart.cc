// Code on arrays of few components that puts them together and takes them apart again, as cross
// products and scans over short axes do, and their gradients once more: each component is computed
// by itself. States of loops are for `unstack`.
#include <algorithm>
#include <ranges>
#include <unordered_map>
#include <unordered_set>

#include "compiler/ir/builder.h"
#include "compiler/ir/cut.h"
#include "compiler/ir/rename.h"
#include "compiler/passes/components.h"
#include "compiler/passes/passes.h"

namespace tercel::passes {
using namespace ir;
namespace {

constexpr int64_t kMostInterleaved = 8, kMostApart = 4;  // components, which lie so
constexpr int64_t kMostStacked = 32;     // where each is an array of its own before
constexpr int64_t kFewestPartElements = 16;  // of a component
constexpr int64_t kMostMadeOps = 500, kMostForEachJoin = 64;

// Values by the dimension of which the components are computed.
using Group = std::unordered_map<uint32_t, int64_t>;

class TakeApart {
 public:
  TakeApart(Module& m, RegionId id) : m_(m), id_(id), ops_(m.region(id).ops) {}

  Renamed run() {
    findUsers();
    for (OpId id : ops_) {
      const Op& op = m_.op(id);
      if (op.kind != OpKind::concatenate_ && op.kind != OpKind::pad_) continue;
      for (int64_t d = 0; d < m_.shape(op.result()).rank(); ++d)
        if (isJoin(op, d)) collect(op, d);
    }
    if (!groups_.empty()) rewrite();
    return std::move(renamed_);
  }

 private:
  void findUsers() {
    for (OpId id : ops_) {
      const Op& op = m_.op(id);
      for (Value v : op.results) here_.emplace(v.index, here_.size());
      for (Value v : op.operands) users_[v.index].push_back(id);
      for (RegionId inner : op.regions) needInside(inner);
    }
    for (Value v : m_.region(id_).results) needed_.insert(v.index);
  }

  void needInside(RegionId region) {
    for (OpId id : m_.region(region).ops) {
      for (Value v : m_.op(id).operands) needed_.insert(v.index);
      for (RegionId inner : m_.op(id).regions) needInside(inner);
    }
    for (Value v : m_.region(region).results) needed_.insert(v.index);
  }

  // Whether only few elements of a component lie side by side.
  bool isInterleaved(Value v, int64_t dimension) const {
    const Dims& dims = m_.shape(v).dims;
    int64_t run = 1;
    for (size_t d = static_cast<size_t>(dimension) + 1; d < dims.size(); ++d) run *= dims[d];
    return run < kFewestPartElements;
  }

  bool suits(Value v, int64_t dimension) const {
    const Shape& shape = m_.shape(v);
    const int64_t lines = shape.dims[static_cast<size_t>(dimension)];
    const int64_t few = isInterleaved(v, dimension) ? kMostInterleaved : kMostApart;
    return lines > 1 && lines <= (stacks_ ? kMostStacked : few) &&
           shape.elements() / lines >= kFewestPartElements;
  }

  // Whether a component of its result is one of an operand.
  bool isJoin(const Op& op, int64_t dimension) const {
    return op.kind != OpKind::slice_ && originOf(m_, op, dimension, 0);
  }

  // The operands that are taken apart where the result is, each along its dimension.
  const std::optional<Group>& operandsApart(const Op& op, int64_t dimension) const {
    const auto [at, is_new] = apart_.try_emplace({op.result().index, dimension});
    if (is_new) at->second = findOperandsApart(op, dimension);
    return at->second;
  }
  std::optional<Group> findOperandsApart(const Op& op, int64_t dimension) const {
    Group apart;
    if (op.operands.empty() || !op.regions.empty()) return {};
    if (originOf(m_, op, dimension, 0)) {
      const bool is_concatenate = op.kind == OpKind::concatenate_;
      const size_t few = op.kind == OpKind::dynamic_update_slice_ ? 2 : 1;
      const size_t arrays = is_concatenate ? op.operands.size() : few;
      for (size_t i = 0; i < arrays; ++i) apart[op.operand(i).index] = dimension;
      return apart;
    }
    if (!isElementwise(op.kind) && opClass(op.kind) != OpClass::shape) return {};
    const auto cuts = operandCuts(m_, op, {dimension, 1});
    if (!cuts) return {};
    for (size_t i = 0; i < cuts->size(); ++i) {
      const Cut& cut = (*cuts)[i];
      if (cut.isWhole()) continue;
      const auto [at, is_new] = apart.emplace(op.operand(i).index, cut.dimension);
      if (cut.unit != 1 || at->second != cut.dimension) return {};
    }
    return apart;
  }

  // All that can be computed by the components of op's result.
  void collect(const Op& op, int64_t dimension) {
    if (tried_.contains({op.result().index, dimension})) return;
    group_.clear();
    stacks_ = std::ranges::all_of(op.operands, [&](Value v) {
      return op.kind == OpKind::concatenate_ && m_.shape(v).dims[static_cast<size_t>(dimension)] == 1;
    });
    add(op.result(), dimension);
    while (!ahead_.empty()) {
      const Value v{ahead_.back()};
      ahead_.pop_back();
      for (auto [operand, d] : *operandsApart(*m_.def(v), group_.at(v.index)))
        add(Value{operand}, d);
      for (OpId user : users_[v.index]) addUser(m_.op(user), v);
    }
    tried_.insert(group_.begin(), group_.end());
    dropEdges();
    if (isWorth()) groups_.insert(group_.begin(), group_.end());
  }

  void add(Value v, int64_t dimension) {
    if (!here_.contains(v.index) || group_.contains(v.index) || groups_.contains(v.index)) return;
    const Op& op = *m_.def(v);
    if (op.results.size() != 1 || !suits(v, dimension) || !operandsApart(op, dimension)) return;
    group_[v.index] = dimension;
    ahead_.push_back(v.index);
  }

  void addUser(const Op& user, Value v) {
    if (user.results.size() != 1 || m_.type(user.result()).is_token) return;
    for (int64_t d = 0; d < m_.shape(user.result()).rank(); ++d)
      if (suits(user.result(), d) && reads(user, d, v)) return add(user.result(), d);
  }

  // Whether components of op's result are made of those of v that the group has.
  bool reads(const Op& op, int64_t dimension, Value v) const {
    const std::optional<Group>& apart = operandsApart(op, dimension);
    if (!apart) return false;
    const auto at = apart->find(v.index);
    return at != apart->end() && at->second == group_.at(v.index);
  }

  // A slice that is one component of what is taken apart.
  bool takesComponent(const Op& op) const {
    if (op.kind != OpKind::slice_) return false;
    const auto at = group_.find(op.operand(0).index);
    if (at == group_.end()) return false;
    const Dims &from = m_.shape(op.operand(0)).dims, &to = m_.shape(op.result()).dims;
    for (size_t d = 0; d < from.size(); ++d)
      if (to[d] != (static_cast<int64_t>(d) == at->second ? 1 : from[d])) return false;
    return true;
  }

  // What reduces all components to one.
  const Op* stepOf(const Op& op) const {
    const auto at = op.operands.empty() ? group_.end() : group_.find(op.operand(0).index);
    return at == group_.end() ? nullptr : foldStep(m_, op, at->second);
  }

  bool readsComponents(const Op& op) const { return takesComponent(op) || stepOf(op); }
  bool readsApart(const Op& user, Value v) const {
    const auto at = user.results.size() == 1 ? group_.find(user.result().index) : group_.end();
    return at == group_.end() ? readsComponents(user) : reads(user, at->second, v);
  }
  bool isReadApart(Value v) const {
    return std::ranges::any_of(usersOf(v), [&](OpId user) { return readsApart(m_.op(user), v); });
  }
  bool isReadWhole(Value v) const {
    return needed_.contains(v.index) ||
           !std::ranges::all_of(usersOf(v), [&](OpId user) { return readsApart(m_.op(user), v); });
  }
  std::span<const OpId> usersOf(Value v) const {
    const auto at = users_.find(v.index);
    return at == users_.end() ? std::span<const OpId>() : std::span<const OpId>(at->second);
  }

  // Nothing is gained by taking it apart as well: what it is made of, or it, would be taken apart
  // or put together all the same.
  bool isEdge(Value v, int64_t dimension) const {
    const Op& op = *m_.def(v);
    const auto inside = std::ranges::count_if(
        op.operands, [&](Value operand) { return group_.contains(operand.index); });
    if (!isReadApart(v)) return inside <= 1;
    return inside == 0 && !isJoin(op, dimension) && isReadWhole(v);
  }

  // Those whose components are not only moved and put together with others once more.
  std::unordered_set<uint32_t> computedWith() const {
    std::unordered_set<uint32_t> found;
    const auto counts = [&](const Op& user, Value v) {
      if (!readsApart(user, v)) return false;
      const bool moves = group_.contains(user.result().index) && !isElementwise(user.kind);
      return !moves || found.contains(user.result().index);
    };
    for (uint32_t index : std::views::reverse(inOrder())) {
      const Value v{index};
      if (std::ranges::any_of(usersOf(v), [&](OpId user) { return counts(m_.op(user), v); }))
        found.insert(index);
    }
    return found;
  }

  // From the last to the first and back, until nothing changes.
  void dropEdges() {
    const std::vector<uint32_t> order = inOrder();
    for (size_t before = 0; before != group_.size();) {
      before = group_.size();
      for (uint32_t index : std::views::reverse(order)) dropEdge(index);
      for (uint32_t index : order) dropEdge(index);
    }
  }
  std::vector<uint32_t> inOrder() const {
    std::vector<uint32_t> order;
    for (auto [index, d] : group_) order.push_back(index);
    std::ranges::sort(order, {}, [&](uint32_t index) { return here_.at(index); });
    return order;
  }
  void dropEdge(uint32_t index) {
    const auto at = group_.find(index);
    if (at != group_.end() && isEdge(Value{index}, at->second)) group_.erase(at);
  }

  // Neither are its operands taken apart for it alone, nor is it put together again.
  bool isInside(Value v, int64_t dimension) const {
    const Group& operands = *operandsApart(*m_.def(v), dimension);
    return !isReadWhole(v) && std::ranges::all_of(operands, [&](const auto& operand) {
      const Value from{operand.first};
      return m_.shape(from).dims[static_cast<size_t>(operand.second)] == 1 ||
             group_.contains(from.index);
    });
  }

  // A scan over a longer axis halves it, and is of few components only at last.
  bool isLevelOfScan(const Op& op, int64_t dimension) const {
    const auto d = static_cast<size_t>(dimension);
    return op.kind == OpKind::slice_ && op.ints(AttrKey::strides)[d] > 1 &&
           m_.shape(op.operand(0)).dims[d] > kMostInterleaved;
  }

  // Components that lie in pieces of their own are read and written well where they lie.
  bool isWorth() const {
    const std::unordered_set<uint32_t> computed = computedWith();
    int64_t made = 0, joins = 0;
    for (auto [index, d] : group_) {
      const Op& op = *m_.def(Value{index});
      if (!isInterleaved(Value{index}, d) && !isInside(Value{index}, d)) return false;
      if (isLevelOfScan(op, d)) return false;
      if (isReadWhole(Value{index}) && isReadApart(Value{index})) return false;
      if (isJoin(op, d))
        joins += computed.contains(index);
      else
        made += m_.shape(Value{index}).dims[static_cast<size_t>(d)];
    }
    return joins > 0 && made <= std::min(kMostMadeOps, joins * kMostForEachJoin);
  }

  void rewrite() {
    std::vector<OpId> todo = std::move(m_.region(id_).ops);
    m_.region(id_).ops.clear();
    Builder b(m_, id_);
    builder_ = &b;
    group_ = groups_;
    for (OpId id : todo) {
      const Op& op = m_.op(id);
      b.setLocation(op.loc);
      const Value v = op.results.empty() ? Value{} : op.result();
      if (const auto at = group_.find(v.index); v.valid() && at != group_.end()) {
        makeComponents(op, at->second);
      } else if (takesComponent(op)) {
        const int64_t d = group_.at(op.operand(0).index);
        renamed_[v.index] =
            component(op.operand(0), d, op.ints(AttrKey::start_indices)[static_cast<size_t>(d)]);
      } else if (const Op* step = stepOf(op)) {
        const int64_t d = group_.at(op.operand(0).index);
        renamed_[v.index] = fold(b, *step, op.operand(1), allComponents(op.operand(0), d),
                                 Dims(m_.shape(v).dims));
      } else {
        m_.region(id_).ops.push_back(id);
      }
    }
  }

  Values allComponents(Value v, int64_t d) {
    Values parts;
    for (int64_t line = 0; line < m_.shape(v).dims[static_cast<size_t>(d)]; ++line)
      parts.push_back(component(v, d, line));
    return parts;
  }

  void makeComponents(const Op& op, int64_t d) {
    const Value v = op.result();
    Values parts;
    for (int64_t line = 0; line < m_.shape(v).dims[static_cast<size_t>(d)]; ++line) {
      parts.push_back(componentOf(
          *builder_, op, d, line, [](Value whole) { return whole; },
          [&](Value operand, int64_t along, int64_t at) { return component(operand, along, at); }));
      components_[{v.index, d, line}] = parts.back();
    }
    if (isReadWhole(v)) renamed_[v.index] = builder_->concatenate(parts, d);
  }

  Value component(Value v, int64_t d, int64_t line) {
    if (m_.shape(v).dims[static_cast<size_t>(d)] == 1) return v;
    Value& made = components_[{v.index, d, line}];
    if (!made.valid()) made = sliceLine(*builder_, v, d, line);
    return made;
  }

  Module& m_;
  const RegionId id_;
  const std::vector<OpId> ops_;
  std::unordered_map<uint32_t, size_t> here_;  // made in this region: the place in its order
  std::unordered_set<uint32_t> needed_;        // by what is not an op of this region
  std::unordered_map<uint32_t, std::vector<OpId>> users_;
  Group group_, groups_;  // the one at hand, and all that are worth it
  bool stacks_ = false;   // whether the one at hand begins with lines that are stacked
  std::set<std::pair<uint32_t, int64_t>> tried_;
  mutable std::map<std::pair<uint32_t, int64_t>, std::optional<Group>> apart_;  // by result
  std::vector<uint32_t> ahead_;
  Builder* builder_ = nullptr;
  std::map<Component, Value> components_;
  Renamed renamed_;
};

bool takeApartIn(Module& m, RegionId region) {
  bool changed = false;
  for (OpId id : std::vector<OpId>(m.region(region).ops))
    for (RegionId inner : m.op(id).regions) changed |= takeApartIn(m, inner);
  const Renamed renamed = TakeApart(m, region).run();
  if (renamed.empty()) return changed;
  rename(m, region, renamed);
  return true;
}

}  // namespace

PassResult takeApart(Module& module) {
  bool changed = false;
  for (const Function& function : module.functions) changed |= takeApartIn(module, function.body);
  return changed;
}

}  // namespace tercel::passes
