#include "compiler/plan/updated_readers.h"

#include <algorithm>
#include <unordered_set>

#include "compiler/ir/readings.h"
#include "compiler/plan/op_traits.h"

namespace tercel::plan {
namespace {

using ir::Op;
using ir::OpKind;
using ir::Read;
using ir::Reading;
using ir::Value;

// An array, and what earlier updates and reshapes made it from: all of it may be one piece of memory.
std::unordered_set<uint32_t> historyOf(const ir::Module& m, Value v) {
  std::unordered_set<uint32_t> history = {v.index};
  while (const Op* def = m.def(v)) {
    if (def->kind != OpKind::reshape_ && !updatesInPlace(def->kind)) break;
    v = def->operand(m.value(v).index);
    history.insert(v.index);
  }
  return history;
}

}  // namespace

std::vector<bool> readersOfUpdated(const ir::Module& m, ir::RegionId region,
                                   const RegionUses& uses, uint32_t p) {
  constexpr uint32_t kLookBack = 500;  // of long programs
  const auto& ops = m.region(region).ops;
  const Op& update = m.op(ops[p]);
  const std::unordered_set<uint32_t> history = historyOf(m, update.operand(0));
  const bool stays = std::ranges::any_of(m.region(region).args, [&](Value v) {
    return history.contains(v.index) && staysAsItIs(m, region, v);
  });
  if (stays && !uses.positionOf(update.operand(0))) return {};
  ir::Readings readings(m, update.operand(0));
  for (uint32_t v : history)
    if (v != update.operand(0).index) readings.add(Value{v}, Read::elsewhere);
  const bool has_window = update.kind == OpKind::dynamic_update_slice_;
  const Reading here = has_window ? Reading{Read::window, ir::windowOf(m, update)} : Reading{};
  std::vector<bool> reads(ops.size(), false);
  for (uint32_t q = p > kLookBack ? p - kLookBack : 0; q < p; ++q) {
    const Op& op = m.op(ops[q]);
    if (!op.results.empty() && history.contains(op.result().index)) continue;
    readings.add(op);
    reads[q] = std::ranges::any_of(op.results, [&](Value v) {
      const Reading reading = readings.of(v);
      return reading.read != Read::none && reading != here;
    });
    // It is in memory for whoever follows.
    if (uses.escapes(q) && ir::isElementwise(op.kind)) readings.add(op.result(), Read::none);
  }
  return reads;
}

}  // namespace tercel::plan
