#include "compiler/plan/plan.h"
#include "program/memory.h"

namespace tercel::plan {
namespace {

std::string_view placeName(program::Place place) {
  constexpr std::string_view kNames[] = {"arg", "result", "arena", "const", "turn"};
  return kNames[static_cast<size_t>(place)];
}

std::string slotText(const program::Program& program, uint32_t id) {
  const program::Slot& slot = program.slots[id];
  const bool numbered = program::isNumbered(slot.place);
  return cat(placeName(slot.place), numbered ? cat(slot.index) : "",
             numbered && slot.offset == 0 ? "" : cat('+', slot.offset), '[', slot.bytes, ']');
}

void printCluster(const ir::Module& module, const kernel::Cluster& cluster, std::string& text) {
  for (ir::OpId id : cluster.ops) {
    const ir::Op& op = module.op(id);
    text += "    ";
    for (ir::Value v : op.results) text += cat('%', v.index, ' ');
    text += cat("= ", ir::opName(op.kind), '(');
    for (ir::Value v : op.operands) text += cat(" %", v.index);
    text += " )";
    for (ir::Value v : op.results) text += cat(" : ", toString(module.shape(v)));
    text += '\n';
  }
  if (cluster.is_parallel) text += "    its turns are tasks\n";
  for (auto [value, owner] : cluster.shares)
    text += cat("    %", value.index, " in the memory of %", owner.index, '\n');
}

void printStep(const Plan& plan, const program::Step& step, std::string& text) {
  constexpr std::string_view kKinds[] = {
#define STEP(name) #name,
#include "program/steps.def"
  };
  text += cat("  ", kKinds[static_cast<size_t>(step.kind)], ' ', step.target, ' ', step.name, " (");
  for (uint32_t slot : step.slots) text += cat(' ', slotText(plan.program, slot));
  text += " )";
  if (step.kind == program::StepKind::parallel_loop) text += cat(" ", step.tasks, " turns");
  if (!step.text.empty()) text += cat(" \"", step.text, '"');
  for (uint32_t sequence : step.sequences) text += cat(" @", sequence);
  text += '\n';
}

}  // namespace

std::string print(const ir::Module& module, const Plan& plan) {
  std::string text = cat("plan ", plan.program.name, " arena ", plan.program.arena_bytes, '\n');
  for (size_t i = 0; i < plan.clusters.size(); ++i) {
    text += cat("  cluster ", i, ' ', kernel::nestName(plan.clusters[i].nest), ' ', plan.names[i],
                '\n');
    printCluster(module, plan.clusters[i], text);
  }
  for (size_t s = 0; s < plan.program.sequences.size(); ++s) {
    text += cat("sequence ", s, '\n');
    for (const program::Step& step : plan.program.sequences[s]) printStep(plan, step, text);
  }
  return text;
}

}  // namespace tercel::plan
