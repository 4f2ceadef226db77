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
                   std::vector<llvm::Function*> functions, const Target& target)
    : function_(function), kernel_(kernel), functions_(std::move(functions)),
      target_(target),
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
