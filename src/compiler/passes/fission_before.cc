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
    KeptValues kept;
    for (Value v : results) kept.emplace_back(v, all.of(v));
    readKept(m_, loop_, dependence_, kept);
    return true;
  }

 private:
  // That what depends on the loop's state reads.
  Values worthwhileResults() {
    Values results;
    std::unordered_set<uint32_t> seen;
    int64_t bytes = 0;
    auto note = [&](Value v) {
      if (!isByTurn(v) || !seen.insert(v.index).second) return;
      const int64_t all = dependence_.allTurnsOf(v).bytes();
      if (m_.shape(v).elements() > kMostTurnElements || bytes + all > kMostTurnBytes ||
          !isWorthwhile(m_, v, [&](Value made) { return isByTurn(made); }))
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

  bool isByTurn(Value v) const { return dependence_.of(v) == Dependence::turn; }

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
