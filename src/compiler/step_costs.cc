#include "compiler/step_costs.h"

#include <algorithm>

#include "compiler/kernel/nest.h"

namespace tercel::compiler {
namespace {

constexpr double kInlineCost = 10e3;  // ns: below, waking a thread costs more than it saves

// Nanoseconds; none where a donated argument already lies where it is wanted.
double copyCost(const program::Program& program, const program::Step& step) {
  const program::Slot &from = program.slots[step.slots[0]], &to = program.slots[step.slots[1]];
  if (from.place == program::Place::argument && to.place == program::Place::result &&
      program.arguments[from.index].aliased_result == static_cast<int32_t>(to.index))
    return 0;
  return kernel::memoryCost(static_cast<double>(to.bytes));
}

// Of the kernels and copies of a sequence. How often a loop of steps turns is not known.
double costOf(const program::Program& program, uint32_t sequence) {
  constexpr double kTurns = 100;
  double cost = 0;
  for (const program::Step& step : program.sequences[sequence]) {
    double inside = 0;
    for (uint32_t inner : step.sequences) inside += costOf(program, inner);
    const bool is_loop = step.kind == program::StepKind::while_loop;
    const bool is_parallel = step.kind == program::StepKind::parallel_loop;
    if (is_loop) inside += costOf(program, step.target);
    if (step.kind == program::StepKind::kernel) cost += step.cost;
    if (step.kind == program::StepKind::copy) cost += copyCost(program, step);
    cost += inside * (is_loop ? kTurns : is_parallel ? static_cast<double>(step.tasks) : 1);
  }
  return cost;
}

// What a step makes of nothing for one thread to go over, as a scatter does, is made by one too:
// what another has in its cache takes longer to fetch than to make.
void fillWhereUsed(program::Sequence& sequence) {
  for (size_t i = 0; i < sequence.size(); ++i) {
    program::Step& fill = sequence[i];
    if (fill.kind != program::StepKind::kernel || fill.slots.size() != 1) continue;
    if (fill.grain >= fill.tasks) continue;
    const auto user = std::find_if(
        sequence.begin() + static_cast<ptrdiff_t>(i) + 1, sequence.end(), [&](const auto& step) {
          return std::ranges::find(step.slots, fill.slots[0]) != step.slots.end();
        });
    if (user != sequence.end() && user->kind == program::StepKind::kernel && user->tasks == 1)
      fill.grain = fill.tasks;
  }
}

}  // namespace

void completeSteps(program::Program& program, std::span<const SharedKernel> kernels) {
  for (program::Sequence& sequence : program.sequences) {
    for (program::Step& step : sequence) {
      if (step.kind != program::StepKind::kernel) continue;
      const CompiledKernel& kernel = *kernels[step.target];
      step.tasks = kernel.tasks;
      step.cost = kernel.cost;
      step.grain = kernel.cost < kInlineCost
                       ? std::max<int64_t>(1, kernel.tasks)
                       : std::max<int64_t>(1, static_cast<int64_t>(
                             static_cast<double>(kernel.tasks) * kInlineCost / 2 / kernel.cost));
    }
    fillWhereUsed(sequence);
  }
  program.cost += costOf(program, 0);
}

}  // namespace tercel::compiler
