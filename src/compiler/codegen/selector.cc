#include "compiler/codegen/selector.h"

#include "compiler/codegen/registers.h"
#include "compiler/codegen/selector_names.h"

#include <llvm/CodeGen/MachineFrameInfo.h>
#include <llvm/CodeGen/MachineRegisterInfo.h>
#include <llvm/CodeGen/TargetSubtargetInfo.h>
#include <llvm/IR/Function.h>

#include "core/status.h"

namespace tercel::codegen {

using kernel::BlockId;
using kernel::InstClass;
using kernel::Opcode;
using kernel::Predicate;
using kernel::Scalar;

Selector::Selector(llvm::MachineFunction& function, const kernel::Kernel& kernel,
                   std::vector<llvm::Function*> functions, bool slow_gather)
    : function_(function), kernel_(kernel), functions_(std::move(functions)),
      slow_gather_(slow_gather),
      regs_(function.getRegInfo()), insts_(*function.getSubtarget().getInstrInfo()),
      classes_(*function.getSubtarget().getRegisterInfo()),
      names_(X86Names::of(insts_, classes_)), values_(kernel.values.size()),
      words_(kernel.values.size()),
      masks_(kernel.values.size()),
      lanes_(kernel.values.size()),
      uses_(kernel.values.size()),
      splat_(kernel.values.size()) {
  for (const Inst& inst : kernel_.insts)
    for (V v : inst.operands) ++uses_[v.index];
  for (const kernel::Block& block : kernel_.blocks)
    for (V v : block.yields) ++uses_[v.index];
  for (const Inst& inst : kernel_.insts) {
    if (inst.op != Opcode::splat || kernel::bitWidth(inst.type.scalar) < 32) continue;
    const Inst* number = kernel_.def(inst.operands[0]);
    if (number && number->op == Opcode::load && uses_[inst.operands[0].index] == 1)
      splat_[inst.operands[0].index] = &inst;
  }
}

bool Selector::run() {
  // Variables, which LLVM's selection has in registers, are what such loops wait for.
  const bool waits =
      llvm::any_of(kernel_.insts, [](const Inst& inst) { return inst.op == Opcode::while_; });
  if (waits && llvm::is_contained(findVariables(kernel_), true)) return false;
  entry_ = newBlock();
  block_ = newBlock();
  entry_->addSuccessor(block_);
  prologue();
  emitBlock(0);
  const bool streams = llvm::any_of(
      kernel_.insts, [](const Inst& inst) { return inst.op == Opcode::store_streaming; });
  if (streams) start("SFENCE", {});
  start("RET64", {});
  for (Block* block : aside_) block->moveAfter(&function_.back());
  for (Block* block : later_) function_.push_back(block);  // refused: the function frees its own
  return !refused_;
}

// void kernel(void* const* params, int64_t begin, int64_t end, void* scratch)
void Selector::prologue() {
  constexpr const char* kArguments[] = {"RDI", "RSI", "RDX", "RCX"};
  Reg arguments[4];
  for (int i = 0; i < 4; ++i) {
    llvm::MCRegister physical = names_.physical(kArguments[i]);
    regs_.addLiveIn(physical);
    entry_->addLiveIn(physical);
    arguments[i] = newReg("GR64");
    startIn(*entry_, entry_->end(), "COPY", arguments[i]).addReg(physical);
  }
  const kernel::Block& body = kernel_.blocks[0];
  for (size_t i = 0; i < body.args.size(); ++i) values_[body.args[i].index] = arguments[i + 1];
  unsigned next = 0;
  std::vector<unsigned> piece(kernel_.buffers.size());
  for (size_t i = 0; i < kernel_.buffers.size(); ++i) {
    const kernel::Buffer& buffer = kernel_.buffers[i];
    piece[i] = buffer.alias_of >= 0 ? piece[static_cast<size_t>(buffer.alias_of)] : next++;
    memory_.push_back(function_.getFunction().getArg(piece[i]));
    Reg base = newReg("GR64_NOSP");
    const bool is_param = buffer.param >= 0;
    auto inst = startIn(*entry_, entry_->end(), is_param ? "MOV64rm" : "LEA64r", base);
    inst.addReg(arguments[is_param ? 0 : 3]).addImm(1).addReg(0);
    inst.addImm(is_param ? 8 * buffer.param : buffer.scratch_offset).addReg(0);
    if (is_param)
      inst.addMemOperand(function_.getMachineMemOperand(
          llvm::MachinePointerInfo(),
          llvm::MachineMemOperand::MOLoad | llvm::MachineMemOperand::MOInvariant |
              llvm::MachineMemOperand::MODereferenceable,
          8, llvm::Align(8)));
    finish(*inst);
    buffers_.push_back(base);
  }
  for (size_t i = 0; i < piece.size(); ++i) {
    bool written = false;
    for (size_t j = 0; j < piece.size(); ++j)
      written |= piece[j] == piece[i] && !kernel_.buffers[j].read_only;
    invariant_.push_back(!written);
  }
}

void Selector::emitBlock(BlockId id) {
  for (kernel::InstId i : kernel_.blocks[id].insts) {
    if (refused_) return;
    const Inst& inst = kernel_.insts[i];
    if (inst.results.empty() || !values_[inst.results[0].index].isValid()) emit(inst);
  }
}

// As the Emitter's.
void Selector::hoist(const kernel::Block& block) {
  for (kernel::InstId id : block.insts) {
    const Inst& inst = kernel_.insts[id];
    if (inst.results.empty() || instClass(inst.op) >= InstClass::state) continue;
    if (values_[inst.results[0].index].isValid()) continue;
    bool loads = instClass(inst.op) == InstClass::memory;
    if (loads && !invariant_[static_cast<size_t>(inst.imm)]) continue;
    auto known = [&](V v) { return values_[v.index].isValid() || constantBits(v, nullptr); };
    if (llvm::all_of(inst.operands, known)) emit(inst);
  }
}

void Selector::emit(const Inst& inst) {
  switch (kernel::instClass(inst.op)) {
    case InstClass::memory: return memory(inst);
    case InstClass::pure:
      if (inst.op != Opcode::constant) values_[inst.results[0].index] = pure(inst);
      return;
    case InstClass::state: return state(inst);
    case InstClass::control: break;
  }
  if (inst.op == Opcode::for_) return emitFor(inst);
  if (inst.op == Opcode::while_) return emitWhile(inst);
  emitIf(inst);
}

llvm::MachineInstr* Selector::phi(V v) {
  values_[v.index] = newReg(kernel_.type(v));
  return start("PHI", values_[v.index]);
}

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

Selector::Block* Selector::newBlock() {
  Block* block = function_.CreateMachineBasicBlock();
  function_.push_back(block);
  return block;
}

Selector::Block* Selector::laterBlock() {
  later_.push_back(function_.CreateMachineBasicBlock());
  return later_.back();
}

void Selector::place(Block* block) {
  function_.push_back(block);
  std::erase(later_, block);
}

void Selector::jump(Block* to) {
  start("JMP_1", {}).addMBB(to);
  block_->addSuccessor(to);
}

void Selector::branch(Condition condition, Block* to, Block* otherwise) {
  start("JCC_1", {}).addMBB(to).addImm(static_cast<int>(condition));
  start("JMP_1", {}).addMBB(otherwise);
  block_->addSuccessor(to);
  block_->addSuccessor(otherwise);
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

const llvm::TargetRegisterClass* Selector::classOf(Type type) {
  const int width = kernel::bitWidth(type.scalar), bits = width * type.lanes;
  auto named = [&](const char* name) { return names_.registerClass(name); };
  if (!type.isVector()) {
    if (type.scalar == Scalar::f32) return named("FR32X");
    if (type.scalar == Scalar::f64) return named("FR64X");
    return named(width <= 8 ? "GR8" : width == 16 ? "GR16" : width == 32 ? "GR32" : "GR64");
  }
  if (type.scalar == Scalar::i1) {
    if (type.lanes > 64) refuse();
    return named(type.lanes <= 16 ? "VK16WM" : type.lanes == 32 ? "VK32WM" : "VK64WM");
  }
  if (bits > 512) refuse();
  return named(bits <= 128 ? "VR128X" : bits == 256 ? "VR256X" : "VR512");
}

Selector::Reg Selector::newReg(Type type) { return regs_.createVirtualRegister(classOf(type)); }

Selector::Reg Selector::newReg(std::string_view register_class) {
  return regs_.createVirtualRegister(names_.registerClass(register_class));
}

Selector::Builder Selector::startIn(Block& block, Block::iterator at, const std::string& name,
                                    Reg result) {
  const llvm::MCInstrDesc& what = insts_.get(names_.instruction(name));
  Builder inst = BuildMI(block, at, llvm::DebugLoc(), what);
  if (result.isValid()) inst.addReg(result, llvm::RegState::Define);
  return inst;
}

Selector::Builder Selector::start(const std::string& name, Reg result) {
  return startIn(*block_, block_->end(), name, result);
}

// Gives the registers of an instruction the classes it asks for, by copies where they have others.
void Selector::finish(llvm::MachineInstr& inst) {
  if (inst.mayRaiseFPException()) inst.setFlag(llvm::MachineInstr::NoFPExcept);
  for (unsigned i = 0; i < inst.getNumExplicitOperands(); ++i) {
    llvm::MachineOperand& operand = inst.getOperand(i);
    if (!operand.isReg() || !operand.getReg().isVirtual()) continue;
    const auto* wanted = insts_.getRegClass(inst.getDesc(), i, &classes_, function_);
    if (!wanted || regs_.constrainRegClass(operand.getReg(), wanted)) continue;
    Reg own = regs_.createVirtualRegister(wanted);
    Block& block = *inst.getParent();
    const auto& copy = insts_.get(llvm::TargetOpcode::COPY);
    if (operand.isDef())
      BuildMI(block, std::next(inst.getIterator()), llvm::DebugLoc(), copy, operand.getReg())
          .addReg(own);
    else
      BuildMI(block, inst.getIterator(), llvm::DebugLoc(), copy, own).addReg(operand.getReg());
    operand.setReg(own);
  }
}

Selector::Reg Selector::make(const std::string& name, Reg result,
                             std::initializer_list<Reg> operands, int64_t immediate) {
  Builder inst = start(name, result);
  for (Reg r : operands) inst.addReg(r);
  if (immediate != kNoImmediate) inst.addImm(immediate);
  finish(*inst);
  return result;
}

Selector::Reg Selector::copy(Reg from, Reg to, unsigned part) {
  if (part && from.isVirtual())  // not all registers of a class have each part
    regs_.constrainRegClass(from, classes_.getSubClassWithSubReg(regs_.getRegClass(from), part));
  start("COPY", to).addReg(from, 0, part);
  return to;
}

Selector::Reg Selector::undefined(Type type) {
  Reg result = newReg(type);
  start("IMPLICIT_DEF", result);
  return result;
}

}  // namespace tercel::codegen
