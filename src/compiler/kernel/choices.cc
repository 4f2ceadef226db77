#include "compiler/kernel/choices.h"

#include <algorithm>
#include <iterator>
#include <ranges>
#include <unordered_map>

#include "compiler/kernel/nest.h"

namespace tercel::kernel {

std::optional<ir::Values> neededBeside(const ir::Module& m, const Cluster& cluster,
                                       const ir::Op& select, size_t side) {
  constexpr double kMuch = 0.5;  // nanoseconds an element
  // Values that something reads: whether only this side does.
  std::unordered_map<uint32_t, bool> is_alone;
  auto read = [&](ir::Value v, bool alone) {
    auto [at, added] = is_alone.emplace(v.index, alone);
    at->second = at->second && alone;
  };
  auto isMadeFor = [&](const ir::Op& op) {
    return !op.results.empty() && std::ranges::all_of(op.results, [&](ir::Value v) {
      auto at = is_alone.find(v.index);
      return at != is_alone.end() && at->second;
    });
  };
  for (ir::Value v : cluster.outputs) read(v, false);
  ir::Values operands;
  double cost = 0;
  for (ir::OpId id : cluster.ops | std::views::reverse) {
    const ir::Op& op = m.op(id);
    const bool alone = &op != &select && isMadeFor(op);
    if (alone && !ir::isElementwise(op.kind) && elementCost(m, op) > 0) return {};
    cost += alone ? elementCost(m, op) : 0;
    for (size_t i = 0; i < op.operands.size(); ++i)
      read(op.operand(i), alone || (&op == &select && i == side));
    if (alone) std::ranges::copy(op.operands, std::back_inserter(operands));
  }
  if (cost < kMuch) return {};
  ir::Values beside;
  std::ranges::copy_if(operands, std::back_inserter(beside),
                       [&](ir::Value v) { return !is_alone.at(v.index); });
  return beside;
}

}  // namespace tercel::kernel
