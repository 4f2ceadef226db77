#include <algorithm>
#include <bit>
#include <unordered_map>
#include <unordered_set>

#include "compiler/ir/clone.h"
#include "compiler/passes/effects.h"
#include "compiler/passes/fission.h"

namespace tercel::passes {
using namespace ir;
namespace {

using LaneSet = uint64_t;
constexpr size_t kMostLanes = 63;

class Lead {
 public:
  Lead(Module& m, const Op& loop, const CountedLoop& counted)
      : m_(m), loop_(loop), counted_(counted), body_(m.region(loop.regions[1])),
        dependence_(m, loop, counted) {}

  OpId moveTo(RegionId before, Renamed& renamed) {
    if (body_.args.size() > kMostLanes) return {};
    findLanes();
    if (!isLead(counted_.counter) || std::has_single_bit(lanes_)) return {};
    findRead();
    if (read_.empty() || !isWorthwhile()) return {};
    const OpId made = loopOfItsOwn(before);
    for (size_t i = 0, next = 0; i < body_.args.size(); ++i)
      if (isLead(i)) renamed[loop_.result(i).index] = m_.op(made).result(next++);
    readLines(m_.op(made));
    return made;
  }

 private:
  LaneSet laneOf(size_t lane) const { return LaneSet{1} << lane; }
  bool isLead(size_t lane) const { return (lanes_ & laneOf(lane)) != 0; }

  LaneSet lanesOf(Value v) const {
    const auto at = depends_.find(v.index);
    return at == depends_.end() ? 0 : at->second;
  }
  // By the numbers carried in these lanes, and not by the turn alone.
  bool isLead(Value v) const {
    const LaneSet on = lanesOf(v);
    return (on & ~lanes_) == 0 && (on & ~laneOf(counted_.counter)) != 0;
  }

  // Integers that follow from integers alone: keys of random numbers, counters.
  void findLanes() {
    for (size_t i = 0; i < body_.args.size(); ++i) depends_[body_.args[i].index] = laneOf(i);
    for (OpId id : body_.ops) {
      const Op& op = m_.op(id);
      const bool moves = op.regions.empty() && isRepeatable(op);
      LaneSet on = moves ? 0 : ~LaneSet{0};
      for (Value v : op.operands) on |= lanesOf(v);
      for (Value v : op.results) depends_[v.index] = on;
    }
    for (size_t i = 0; i < body_.args.size(); ++i) {
      const Type& type = m_.type(body_.args[i]);
      if (!type.is_token && isInteger(type.shape.dtype) &&
          type.shape.elements() <= kMostTurnElements)
        lanes_ |= laneOf(i);
    }
    for (LaneSet all = 0; all != lanes_;) {
      all = lanes_;
      for (size_t i = 0; i < body_.args.size(); ++i)
        if (lanesOf(body_.results[i]) & ~all) lanes_ &= ~laneOf(i);
    }
  }

  // What the other lanes need of these.
  void findRead() {
    std::unordered_set<uint32_t> seen;
    auto note = [&](Value v) {
      if (isLead(v) && seen.insert(v.index).second) read_.push_back(v);
    };
    for (OpId id : body_.ops) {
      const Op& op = m_.op(id);
      const bool leads = std::ranges::all_of(
          op.results, [&](Value v) { return (lanesOf(v) & ~lanes_) == 0; });
      if (!leads) forEachRead(m_, op, note);
    }
    for (size_t i = 0; i < body_.args.size(); ++i)
      if (!isLead(i)) note(body_.results[i]);
  }

  // Ops of the body that make these values.
  std::unordered_set<uint32_t> opsBehind(std::vector<Value> values) const {
    std::unordered_set<uint32_t> ops;
    while (!values.empty()) {
      const Value v = values.back();
      values.pop_back();
      const OpId id = m_.value(v).def;
      if (!id.valid() || !depends_.contains(v.index) || !ops.insert(id.index).second) continue;
      values.insert(values.end(), m_.op(id).operands.begin(), m_.op(id).operands.end());
    }
    return ops;
  }

  std::vector<Value> nextValues() const {
    std::vector<Value> next;
    for (size_t i = 0; i < body_.args.size(); ++i)
      if (isLead(i)) next.push_back(body_.results[i]);
    return next;
  }

  // Whether much of it needs no turn before, once the lanes have gone ahead.
  bool isWorthwhile() {
    constexpr int kMuch = 2 * kWorthwhileWork;
    int64_t bytes = 0;
    for (Value v : read_) {
      if (m_.shape(v).elements() > kMostTurnElements) return false;
      bytes += dependence_.allTurnsOf(v).bytes();
    }
    const auto chain = opsBehind(nextValues());
    moved_ = opsBehind({read_.begin(), read_.end()});
    int work = 0;
    for (uint32_t id : moved_) {
      const Op& op = m_.op(OpId{id});
      if (!chain.contains(id) && dependence_.isUniform(op)) work += workOf(op);
    }
    moved_.insert(chain.begin(), chain.end());
    return bytes <= kMostTurnBytes && work >= kMuch;
  }

  OpId loopOfItsOwn(RegionId before) {
    const RegionId condition = m_.addRegion(), body = m_.addRegion();
    Builder outside(m_, before, loop_.loc), inside(m_, body, loop_.loc);
    Values operands;
    std::vector<Type> types;
    auto carry = [&](Value first) {
      operands.push_back(first);
      types.push_back(m_.type(first));
      m_.addArg(condition, types.back());
      return m_.addArg(body, types.back());
    };
    std::unordered_map<uint32_t, Value> now;
    auto of = [&](Value v) {
      const auto at = now.find(v.index);
      return at == now.end() ? v : at->second;
    };
    for (size_t i = 0; i < body_.args.size(); ++i)
      if (isLead(i)) now[body_.args[i].index] = carry(loop_.operand(i));
    for (OpId id : body_.ops) {
      if (!moved_.contains(id.index)) continue;
      Values reads = m_.op(id).operands;
      for (Value& v : reads) v = of(v);
      std::vector<Type> made;
      for (Value v : m_.op(id).results) made.push_back(m_.type(v));
      inside.setLocation(m_.op(id).loc);
      const Op& copy = m_.op(inside.append(m_.op(id).kind, reads, made, Attrs(m_.op(id).attrs)));
      for (size_t r = 0; r < made.size(); ++r) now[m_.op(id).result(r).index] = copy.result(r);
    }
    Values results;
    for (Value v : nextValues()) results.push_back(of(v));
    const Value counter = of(body_.args[counted_.counter]);
    const Value turn = dependence_.number(inside, counter);
    for (Value v : read_) {
      const Value all = carry(outside.splat(dependence_.allTurnsOf(v), 0));
      results.push_back(writeLine(inside, all, turn, of(v)));
    }
    m_.region(body).results = results;
    addTest(condition);
    const OpId made = outside.append(OpKind::while_, operands, types);
    m_.op(made).regions = {condition, body};
    return made;
  }

  void addTest(RegionId condition) {
    Builder b(m_, condition, loop_.loc);
    const size_t counter = std::popcount(lanes_ & (laneOf(counted_.counter) - 1));
    const Value count = m_.region(condition).args[counter];
    const Op& test = *m_.def(m_.region(loop_.regions[0]).results[0]);
    const Value limit = b.constant(m_.def(test.operand(1))->literal());
    m_.region(condition).results = {
        b.compare(count, limit, "LT", test.symbol(AttrKey::compare_type))};
  }

  // In the loop that is left.
  void readLines(const Op& made) {
    KeptValues kept;
    size_t next = made.results.size() - read_.size();
    for (Value v : read_) kept.emplace_back(v, made.result(next++));
    readKept(m_, loop_, dependence_, kept);
  }

  Module& m_;
  const Op& loop_;
  const CountedLoop counted_;
  const Region& body_;
  const TurnDependence dependence_;
  std::unordered_map<uint32_t, LaneSet> depends_;  // by value of the body
  LaneSet lanes_ = 0;
  Values read_;
  std::unordered_set<uint32_t> moved_;             // ops
};

}  // namespace

OpId lanesAhead(Module& m, const Op& loop, const CountedLoop& counted, RegionId before,
                Renamed& renamed) {
  return Lead(m, loop, counted).moveTo(before, renamed);
}

}  // namespace tercel::passes
