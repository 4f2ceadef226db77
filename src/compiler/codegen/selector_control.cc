// Loops and branches, and the flags that they go by.
#include <llvm/CodeGen/MachineRegisterInfo.h>

#include "compiler/codegen/selector.h"
#include "compiler/codegen/selector_names.h"

namespace tercel::codegen {

using kernel::BlockId;
using kernel::Opcode;
using kernel::Predicate;
using kernel::Scalar;

void Selector::emitFor(const Inst& inst) {
  const kernel::Block& block = kernel_.blocks[inst.blocks[0]];
  Reg lo = operand(inst, 0), hi = operand(inst, 1);
  llvm::SmallVector<Reg, 8> initial{lo};
  for (size_t i = 2; i < inst.operands.size(); ++i) initial.push_back(operand(inst, i));
  Block* before = block_;
  Block* join = nullptr;
  const bool guarded = !kernel::runsAtLeastOnce(kernel_, inst.operands[0], inst.operands[1]);
  if (guarded) {
    Block* preheader = newBlock();
    join = laterBlock();
    start("CMP64rr", {}).addReg(lo).addReg(hi);
    branch(Condition::less, preheader, join);
    block_ = preheader;
  }
  hoist(block);
  Block* preheader = block_;
  Block* body = newBlock();
  preheader->addSuccessor(body);
  block_ = body;
  llvm::SmallVector<llvm::MachineInstr*, 8> phis;
  for (size_t i = 0; i < block.args.size(); ++i) {
    phis.push_back(phi(block.args[i]));
    llvm::MachineInstrBuilder(function_, phis[i]).addReg(initial[i]).addMBB(preheader);
  }
  emitBlock(inst.blocks[0]);
  if (refused_) return;
  llvm::SmallVector<Reg, 8> yields{newReg("GR64")};
  for (V v : block.yields) yields.push_back(value(v));
  auto step = start("ADD64ri32", yields[0]).addReg(values_[block.args[0].index]).addImm(inst.imm);
  finish(*step);
  for (size_t i = 0; i < phis.size(); ++i)
    llvm::MachineInstrBuilder(function_, phis[i]).addReg(yields[i]).addMBB(block_);
  start("CMP64rr", {}).addReg(yields[0]).addReg(hi);
  Block* exit = newBlock();
  branch(Condition::less, body, exit);
  block_ = exit;
  for (size_t i = 0; i < inst.results.size(); ++i) values_[inst.results[i].index] = yields[i + 1];
  if (!guarded) return;
  place(join);
  exit->addSuccessor(join);
  block_ = join;
  for (size_t i = 0; i < inst.results.size(); ++i) {
    llvm::MachineInstr* node = phi(inst.results[i]);
    llvm::MachineInstrBuilder(function_, node)
        .addReg(initial[i + 1]).addMBB(before).addReg(yields[i + 1]).addMBB(exit);
  }
}

void Selector::emitWhile(const Inst& inst) {
  const kernel::Block& condition = kernel_.blocks[inst.blocks[0]];
  const kernel::Block& loop = kernel_.blocks[inst.blocks[1]];
  llvm::SmallVector<Reg, 8> initial;
  for (size_t i = 0; i < inst.operands.size(); ++i) initial.push_back(operand(inst, i));
  Block* before = block_;
  Block* header = newBlock();
  before->addSuccessor(header);
  block_ = header;
  llvm::SmallVector<llvm::MachineInstr*, 8> phis;
  for (size_t i = 0; i < initial.size(); ++i) {
    phis.push_back(phi(condition.args[i]));
    llvm::MachineInstrBuilder(function_, phis[i]).addReg(initial[i]).addMBB(before);
    const Reg carried = values_[condition.args[i].index];
    values_[loop.args[i].index] = values_[inst.results[i].index] = carried;
  }
  emitBlock(inst.blocks[0]);
  if (refused_) return;
  const Condition goes_on = flagsOf(condition.yields[0]);
  Block *body = newBlock(), *exit = laterBlock();
  branch(goes_on, body, exit);
  block_ = body;
  emitBlock(inst.blocks[1]);
  if (refused_) return;
  for (size_t i = 0; i < phis.size(); ++i)
    llvm::MachineInstrBuilder(function_, phis[i]).addReg(value(loop.yields[i])).addMBB(block_);
  jump(header);
  place(exit);
  block_ = exit;
}

void Selector::emitIf(const Inst& inst) {
  if (inst.imm) return emitSeldom(inst);
  const bool has_else = !kernel_.blocks[inst.blocks[1]].insts.empty() || !inst.results.empty();
  Condition condition = flagsOf(inst.operands[0]);
  Block* then_block = newBlock();
  Block* join = laterBlock();
  Block* else_block = has_else ? laterBlock() : join;
  branch(condition, then_block, else_block);
  Block* ends[2];
  llvm::SmallVector<Reg, 4> yields[2];
  for (int i = 0; i < (has_else ? 2 : 1); ++i) {
    if (i == 1) place(else_block);
    block_ = i == 0 ? then_block : else_block;
    emitBlock(inst.blocks[i]);
    if (refused_) return;
    for (V v : kernel_.blocks[inst.blocks[i]].yields) yields[i].push_back(value(v));
    ends[i] = block_;
    jump(join);
  }
  place(join);
  block_ = join;
  for (size_t r = 0; r < inst.results.size(); ++r) {
    llvm::MachineInstr* node = phi(inst.results[r]);
    for (int i = 0; i < 2; ++i)
      llvm::MachineInstrBuilder(function_, node).addReg(yields[i][r]).addMBB(ends[i]);
  }
}

// What seldom happens is on a path of its own; else values of before stand for the results.
void Selector::emitSeldom(const Inst& inst) {
  llvm::SmallVector<Reg, 4> otherwise, yields;
  for (V v : kernel_.blocks[inst.blocks[1]].yields) otherwise.push_back(value(v));
  Condition condition = flagsOf(inst.operands[0]);
  Block* before = block_;
  Block* rare = aside_.emplace_back(newBlock());
  Block* join = newBlock();
  jumpSeldom(condition, rare, join);
  block_ = rare;
  emitBlock(inst.blocks[0]);
  if (refused_) return;
  for (V v : kernel_.blocks[inst.blocks[0]].yields) yields.push_back(value(v));
  Block* end = block_;
  jump(join);
  block_ = join;
  for (size_t r = 0; r < inst.results.size(); ++r)
    llvm::MachineInstrBuilder(function_, phi(inst.results[r]))
        .addReg(otherwise[r]).addMBB(before).addReg(yields[r]).addMBB(end);
}

void Selector::jumpSeldom(Condition condition, Block* rare, Block* join) {
  const llvm::BranchProbability seldom(1, 1000);
  start("JCC_1", {}).addMBB(rare).addImm(static_cast<int>(condition));
  start("JMP_1", {}).addMBB(join);
  block_->addSuccessor(rare, seldom);
  block_->addSuccessor(join, seldom.getCompl());
}

// Sets the flags by an i1, and says where they hold it.
Selector::Condition Selector::flagsOf(V condition) {
  const Inst* inst = kernel_.def(condition);
  if (inst && inst->op == Opcode::icmp && kernel::bitWidth(typeOf(*inst, 0).scalar) >= 32) {
    static constexpr Condition kConditions[] = {
        Condition::equal, Condition::not_equal, Condition::less, Condition::less_equal,
        Condition::greater, Condition::greater_equal, Condition::below, Condition::below_equal,
        Condition::above, Condition::above_equal};
    const bool wide = kernel::bitWidth(typeOf(*inst, 0).scalar) == 64;
    Reg a = operand(*inst, 0), b = operand(*inst, 1);
    finish(*start(wide ? "CMP64rr" : "CMP32rr", {}).addReg(a).addReg(b));
    return kConditions[inst->imm];
  }
  if (inst && inst->op == Opcode::any) {
    Reg mask = operand(*inst, 0);
    int lanes = typeOf(*inst, 0).lanes;
    const char* name = lanes == 64 ? "KORTESTQrr" : lanes == 32 ? "KORTESTDrr" : "KORTESTWrr";
    finish(*start(name, {}).addReg(mask).addReg(mask));
    return Condition::not_equal;
  }
  if (inst && inst->op == Opcode::fcmp)
    if (const auto flags = flagsOfNumbers(*inst)) return *flags;
  Reg set = value(condition);
  finish(*start("TEST8rr", {}).addReg(set).addReg(set));
  return Condition::not_equal;
}

// Of a comparison of two floats; none where it takes two conditions.
std::optional<Selector::Condition> Selector::flagsOfNumbers(const Inst& inst) {
  struct Flags {
    Condition condition;
    bool swaps = false;
  };
  const auto flags = [&]() -> std::optional<Flags> {
    switch (static_cast<Predicate>(inst.imm)) {
      case Predicate::ogt: return Flags{Condition::above};
      case Predicate::oge: return Flags{Condition::above_equal};
      case Predicate::olt: return Flags{Condition::above, true};
      case Predicate::ole: return Flags{Condition::above_equal, true};
      case Predicate::fult: return Flags{Condition::below};
      case Predicate::fule: return Flags{Condition::below_equal};
      case Predicate::fugt: return Flags{Condition::below, true};
      case Predicate::fuge: return Flags{Condition::below_equal, true};
      case Predicate::ueq: return Flags{Condition::equal};
      case Predicate::one: return Flags{Condition::not_equal};
      case Predicate::uno: return Flags{Condition::unordered};
      case Predicate::ord: return Flags{Condition::ordered};
      default: return {};
    }
  }();
  const Type type = typeOf(inst, 0);
  if (!flags || type.isVector() || !isWideFloat(type.scalar)) return {};
  Reg a = operand(inst, flags->swaps ? 1 : 0), b = operand(inst, flags->swaps ? 0 : 1);
  finish(*start(cat("VUCOMI", floatSuffix(type), "Zrr"), {}).addReg(a).addReg(b));
  return flags->condition;
}

}  // namespace tercel::codegen
