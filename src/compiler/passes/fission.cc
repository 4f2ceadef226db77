#include "compiler/passes/fission.h"

#include <unordered_set>

#include "compiler/passes/passes.h"

namespace tercel::passes {
using namespace ir;
namespace {

constexpr int64_t kFewestTurns = 32;

class Fission {
 public:
  explicit Fission(Module& m) : m_(m) {}

  bool run() {
    for (Function& function : m_.functions) visit(function.body);
    return changed_;
  }

 private:
  // Loops inside first.
  void visit(RegionId id) {
    const size_t renamed = renamed_.size();
    std::vector<OpId> ops;
    for (OpId o : std::vector<OpId>(m_.region(id).ops)) {
      for (RegionId inner : m_.op(o).regions) visit(inner);
      const auto counted = countedLoop(m_, m_.op(o));
      if (counted && counted->turns >= kFewestTurns && counted->turns <= kMostTurnBytes)
        split(o, *counted, ops);
      else
        ops.push_back(o);
    }
    m_.region(id).ops = std::move(ops);
    if (renamed_.size() > renamed) rename(m_, id, renamed_);
  }

  void split(OpId loop, const CountedLoop& counted, std::vector<OpId>& ops) {
    const RegionId before = m_.addRegion();
    const OpId ahead = lanesAhead(m_, m_.op(loop), counted, before, renamed_);
    if (ahead.valid()) {
      m_.region(before).ops.pop_back();
      append(before, ops);
      splitStores(ahead, *countedLoop(m_, m_.op(ahead)), ops);
    }
    const RegionId front = m_.addRegion();
    const bool is_shorter = workBefore(m_, m_.op(loop), counted, front);
    append(front, ops);
    splitStores(loop, counted, ops);
    changed_ |= ahead.valid() || is_shorter;
  }

  void splitStores(OpId loop, const CountedLoop& counted, std::vector<OpId>& ops) {
    const RegionId before = m_.addRegion(), after = m_.addRegion();
    const OpId shorter = workAfter(m_, m_.op(loop), counted, {before, after, renamed_});
    append(before, ops);
    ops.push_back(shorter.valid() ? shorter : loop);
    append(after, ops);
    changed_ |= shorter.valid();
  }

  void append(RegionId made, std::vector<OpId>& ops) {
    const auto& more = m_.region(made).ops;
    ops.insert(ops.end(), more.begin(), more.end());
  }

  Module& m_;
  Renamed renamed_;
  bool changed_ = false;
};

}  // namespace

int workOf(const Op& op) {
  constexpr int kFunction = 20;
  if (!isElementwise(op.kind)) return 0;
  return isCostly(op.kind) ? kFunction : 1;
}

bool isWorthwhile(const Module& m, Value v, const std::function<bool(Value)>& belongs) {
  std::vector<Value> todo{v};
  std::unordered_set<uint32_t> seen{v.index};
  int work = 0;
  while (!todo.empty() && work < kWorthwhileWork) {
    const Value next = todo.back();
    const Op* op = m.def(next);
    todo.pop_back();
    if (!op || !belongs(next)) continue;
    work += workOf(*op);
    for (Value operand : op->operands)
      if (seen.insert(operand.index).second) todo.push_back(operand);
  }
  return work >= kWorthwhileWork;
}

void readKept(Module& m, const Op& loop, const TurnDependence& dependence,
              const KeptValues& kept) {
  const RegionId reads = m.addRegion();
  Builder inside(m, reads, loop.loc);
  const Value turn = dependence.number(inside);
  Renamed renamed;
  for (auto [v, all] : kept) renamed[v.index] = readLine(inside, all, turn, m.shape(v).dims);
  rename(m, loop.regions[1], renamed);
  std::vector<OpId>& ops = m.region(loop.regions[1]).ops;
  const std::vector<OpId>& first = m.region(reads).ops;
  ops.insert(ops.begin(), first.begin(), first.end());
}

PassResult fission(Module& module) { return Fission(module).run(); }

}  // namespace tercel::passes
