#include <algorithm>
#include <ranges>
#include <unordered_set>

#include "compiler/ir/clone.h"
#include "compiler/passes/fission.h"

namespace tercel::passes {
using namespace ir;
namespace {

// A carried array of which each turn writes a line of its own, all lines in the end, and which
// nothing reads before.
struct Store {
  size_t lane;
  Value update;
  bool is_reversed;
};

class After {
 public:
  After(Module& m, const Op& loop, const CountedLoop& counted)
      : m_(m), loop_(loop), body_(m.region(loop.regions[1])), dependence_(m, loop, counted) {
    forEachRead(m, loop, [&](Value v) { ++uses_[v.index]; });
    for (size_t i = 0; i < body_.args.size(); ++i)
      if (const auto store = storeOf(i)) stores_.push_back(*store);
  }

  OpId moveTo(const Around& to) {
    chooseStores();
    const Values needed = readByLate();
    if (moved_.empty() || !isAffordable(needed)) return {};
    const OpId made = loopThatStores(needed, to.before);
    for (size_t i = 0; i < loop_.results.size(); ++i)
      to.renamed[loop_.result(i).index] = m_.op(made).result(i);
    Builder around(m_, to.after, loop_.loc);
    AllTurns all(around, dependence_);
    giveStored(all, around, m_.op(made), needed);
    for (const Store& store : moved_)
      to.renamed[loop_.result(store.lane).index] = linesOf(
          around, all.of(store.update), store.is_reversed, m_.shape(loop_.result(store.lane)).dims);
    return made;
  }

 private:
  std::optional<Store> storeOf(size_t lane) const {
    const Region& condition = m_.region(loop_.regions[0]);
    const Value array = body_.args[lane];
    const Op* op = m_.def(body_.results[lane]);
    if (!op || op->kind != OpKind::dynamic_update_slice_ || op->operand(0) != array) return {};
    if (uses(array) != 1 || uses(op->result()) != 1 || uses(condition.args[lane]) != 0) return {};
    const Dims &all = m_.shape(array).dims, &part = m_.shape(op->operand(1)).dims;
    if (all.empty() || all[0] != dependence_.turns() || part[0] != 1 ||
        !std::equal(part.begin() + 1, part.end(), all.begin() + 1))
      return {};
    const auto line = dependence_.countedBy(op->operand(2));
    const bool counts = line && (*line == Counted{0, 1} || *line == Counted{all[0] - 1, -1});
    if (!counts) return {};
    return Store{lane, op->operand(1), line->step < 0};
  }

  int uses(Value v) const {
    const auto at = uses_.find(v.index);
    return at == uses_.end() ? 0 : at->second;
  }
  bool isLate(Value v) const { return late_.contains(v.index); }

  // Those whose work is worthwhile, once nothing but them reads it.
  void chooseStores() {
    moved_ = stores_;
    for (size_t all = moved_.size() + 1; moved_.size() < all;) {
      all = moved_.size();
      findLate();
      keepJoins();
      std::erase_if(moved_, [&](const Store& store) {
        return !isWorthwhile(m_, store.update, [&](Value v) { return isLate(v); });
      });
    }
  }

  // What nothing but the stores that move reads.
  void findLate() {
    late_.clear();
    std::unordered_map<uint32_t, int> left = uses_;
    for (const Store& store : moved_) --left[store.update.index];
    for (OpId id : body_.ops | std::views::reverse) {
      const Op& op = m_.op(id);
      if (op.results.size() != 1 || left[op.result().index] > 0 ||
          dependence_.of(op.result()) == Dependence::nothing || !dependence_.isUniform(op) ||
          m_.shape(op.result()).elements() > kMostTurnElements)
        continue;
      if (uses(op.result()) > 0) late_.insert(op.result().index);
      for (Value v : op.operands) --left[v.index];
    }
  }

  // Arithmetic that makes one number of several stays: one is stored instead of them.
  void keepJoins() {
    for (OpId id : body_.ops) {
      const Op& op = m_.op(id);
      if (op.results.size() != 1 || !isLate(op.result()) || !isElementwise(op.kind) ||
          isCostly(op.kind))
        continue;
      std::unordered_set<uint32_t> joined;
      for (Value v : op.operands)
        if (isNeeded(v) && !storeThatHolds(v)) joined.insert(v.index);
      if (joined.size() > 1) late_.erase(op.result().index);
    }
  }

  bool isNeeded(Value v) const { return dependence_.of(v) == Dependence::state && !isLate(v); }

  Values readByLate() const {
    Values needed;
    for (OpId id : body_.ops)
      for (Value v : m_.op(id).operands)
        if (m_.op(id).results.size() == 1 && isLate(m_.op(id).result()) && isNeeded(v) &&
            !std::ranges::count(needed, v))
          needed.push_back(v);
    return needed;
  }

  // A store that stays, of that value as a line.
  const Store* storeThatHolds(Value v) const {
    for (const Store& store : stores_) {
      const bool moves = std::ranges::count(moved_, store.lane, &Store::lane) > 0;
      const Op* op = m_.def(store.update);
      const bool is_line =
          op && (op->kind == OpKind::reshape_ || op->kind == OpKind::broadcast_in_dim_) &&
          op->operand(0) == v && m_.shape(v).elements() == m_.shape(store.update).elements();
      if (!moves && (is_line || store.update == v)) return &store;
    }
    return nullptr;
  }

  bool isAffordable(const Values& needed) const {
    constexpr int64_t kMostGrowth = 2;  // bytes that are stored for each that is not any more
    int64_t more = 0, less = 0;
    for (Value v : needed)
      if (!storeThatHolds(v)) more += dependence_.allTurnsOf(v).bytes();
    for (const Store& store : moved_) less += dependence_.allTurnsOf(store.update).bytes();
    return more <= kMostTurnBytes && more <= kMostGrowth * less;
  }

  // The loop once more, and after its results all turns of each value that nothing stores yet.
  OpId loopThatStores(const Values& needed, RegionId before) {
    Values operands = loop_.operands;
    std::vector<Type> types;
    for (Value v : loop_.results) types.push_back(m_.type(v));
    const RegionId condition = loop_.regions[0], body = loop_.regions[1];
    Builder outside(m_, before, loop_.loc), inside(m_, body, loop_.loc);
    const Value turn = dependence_.number(inside);
    for (Value v : needed) {
      if (storeThatHolds(v)) continue;
      types.push_back({dependence_.allTurnsOf(v)});
      operands.push_back(outside.splat(types.back().shape, 0));
      m_.addArg(condition, types.back());
      const Value array = m_.addArg(body, types.back());
      m_.region(body).results.push_back(writeLine(inside, array, turn, v));
    }
    const OpId made = m_.addOp(OpKind::while_, std::move(operands), types);
    m_.op(made).regions = {condition, body};
    m_.op(made).loc = loop_.loc;
    return made;
  }

  void giveStored(AllTurns& all, Builder& around, const Op& made, const Values& needed) {
    size_t next = loop_.results.size();
    for (Value v : needed) {
      const Store* store = storeThatHolds(v);
      all.give(v, store ? linesOf(around, made.result(store->lane), store->is_reversed,
                                  dependence_.allTurnsOf(v).dims)
                        : made.result(next++));
    }
  }

  static Value linesOf(Builder& around, Value lines, bool is_reversed, const Dims& to) {
    return around.reshape(is_reversed ? around.reverse(lines, {0}) : lines, to);
  }

  Module& m_;
  const Op& loop_;
  const Region& body_;
  const TurnDependence dependence_;
  std::unordered_map<uint32_t, int> uses_;  // by value, inside of the loop
  std::vector<Store> stores_;
  std::vector<Store> moved_;                // whose work is done after the loop
  std::unordered_set<uint32_t> late_;       // by value: results of that work
};

}  // namespace

OpId workAfter(Module& m, const Op& loop, const CountedLoop& counted, const Around& to) {
  return After(m, loop, counted).moveTo(to);
}

}  // namespace tercel::passes
