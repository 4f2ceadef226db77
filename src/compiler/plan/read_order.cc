#include "compiler/plan/read_order.h"

#include <algorithm>
#include <unordered_set>

#include "compiler/plan/captures.h"
#include "compiler/plan/op_traits.h"

namespace tercel::plan {
namespace {

using ir::Value;
using kernel::Unit;

// What an update or scatter writes to.
std::span<const Value> updatedBy(const ir::Module& m, const Unit& unit) {
  if (!unit.is_cluster || !isInPlace(unit.cluster.nest)) return {};
  const ir::Op& op = *m.def(unit.cluster.outputs[0]);
  return std::span<const Value>(op.operands.data(), op.results.size());
}

// Clusters that only make values, and views.
bool mayMove(const ir::Module& m, const Unit& unit) {
  if (unit.is_cluster) return !isInPlace(unit.cluster.nest);
  return isView(m, m.op(unit.op));
}

bool readsAny(const ir::Module& m, const Unit& unit, std::span<const Value> values) {
  std::vector<Value> reads = readsOf(m, unit);
  return std::any_of(values.begin(), values.end(), [&](Value v) {
    return std::find(reads.begin(), reads.end(), v) != reads.end();
  });
}

// The reader and what it needs of the units between, in front of the update; how many they are, 0
// where the update is among what it needs.
size_t moveReader(const ir::Module& m, std::vector<Unit>& units, size_t update, size_t reader) {
  std::vector<bool> moves(units.size(), false);
  moves[reader] = true;
  std::unordered_set<uint32_t> needed;
  size_t count = 0;
  for (size_t u = reader + 1; u-- > update;) {
    for (Value v : madeBy(m, units[u]))
      if (needed.contains(v.index)) moves[u] = true;
    if (!moves[u]) continue;
    if (u == update || !mayMove(m, units[u])) return 0;
    for (Value v : readsOf(m, units[u])) needed.insert(v.index);
    ++count;
  }
  std::vector<Unit> front, back;
  for (size_t u = update; u <= reader; ++u)
    (moves[u] ? front : back).push_back(std::move(units[u]));
  auto to = std::move(front.begin(), front.end(), units.begin() + static_cast<int64_t>(update));
  std::move(back.begin(), back.end(), to);
  return count;
}

}  // namespace

void readBeforeUpdate(const ir::Module& m, std::vector<Unit>& units) {
  for (size_t u = 0; u < units.size(); ++u) {
    std::vector<Value> updated;
    for (Value v : updatedBy(m, units[u]))
      if (m.shape(v).elements() > 1) updated.push_back(v);
    if (updated.empty()) continue;
    for (size_t r = u + 1; r < units.size(); ++r)
      if (readsAny(m, units[r], updated)) u += moveReader(m, units, u, r);
  }
}

}  // namespace tercel::plan
