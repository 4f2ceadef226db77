#include <algorithm>
#include <unordered_set>

#include "compiler/ir/clone.h"
#include "compiler/passes/fission.h"

namespace tercel::passes {
using namespace ir;
namespace {

class Before {
 public:
  Before(Module& m, const Op& loop, const CountedLoop& counted)
      : m_(m), loop_(loop), body_(loop.regions[1]), dependence_(m, loop, counted) {}

  bool moveTo(RegionId front) {
    const Values results = worthwhileResults();
    if (results.empty()) return false;
    Builder around(m_, front, loop_.loc);
    AllTurns all(around, dependence_);
    const RegionId reads = m_.addRegion();
    Builder inside(m_, reads, loop_.loc);
    const Value turn = dependence_.number(inside);
    Renamed renamed;
    for (Value v : results) renamed[v.index] = readLine(inside, all.of(v), turn, m_.shape(v).dims);
    rename(m_, body_, renamed);
    std::vector<OpId>& ops = m_.region(body_).ops;
    const std::vector<OpId>& first = m_.region(reads).ops;
    ops.insert(ops.begin(), first.begin(), first.end());
    return true;
  }

 private:
  // That what depends on the loop's state reads.
  Values worthwhileResults() {
    Values results;
    std::unordered_set<uint32_t> seen;
    int64_t bytes = 0;
    auto note = [&](Value v) {
      if (dependence_.of(v) != Dependence::turn || !seen.insert(v.index).second) return;
      const int64_t all = dependence_.allTurnsOf(v).bytes();
      if (m_.shape(v).elements() > kMostTurnElements || bytes + all > kMostTurnBytes ||
          !isWorthwhile(v))
        return;
      bytes += all;
      results.push_back(v);
    };
    for (OpId id : m_.region(body_).ops) {
      const Op& op = m_.op(id);
      if (op.results.size() != 1 || dependence_.of(op.result()) == Dependence::state)
        forEachRead(m_, op, note);
    }
    std::ranges::for_each(m_.region(body_).results, note);
    return results;
  }

  bool isWorthwhile(Value v) const {
    std::vector<Value> todo{v};
    std::unordered_set<uint32_t> seen{v.index};
    int work = 0;
    while (!todo.empty() && work < kWorthwhileWork) {
      const Op* op = m_.def(todo.back());
      todo.pop_back();
      if (!op) continue;
      work += workOf(*op);
      for (Value operand : op->operands)
        if (dependence_.of(operand) == Dependence::turn && seen.insert(operand.index).second)
          todo.push_back(operand);
    }
    return work >= kWorthwhileWork;
  }

  Module& m_;
  const Op& loop_;
  const RegionId body_;
  const TurnDependence dependence_;
};

}  // namespace

bool workBefore(Module& m, const Op& loop, const CountedLoop& counted, RegionId front) {
  return Before(m, loop, counted).moveTo(front);
}

}  // namespace tercel::passes
