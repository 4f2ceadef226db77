#include "compiler/codegen/emitter.h"
#include "compiler/codegen/registers.h"

#include <llvm/IR/MDBuilder.h>

namespace tercel::codegen {

using kernel::BlockId;
using kernel::InstClass;
using kernel::Opcode;
using kernel::Scalar;

namespace {

bool streams(const kernel::Kernel& kernel) {
  for (const kernel::Inst& inst : kernel.insts)
    if (inst.op == Opcode::store_streaming) return true;
  return false;
}

// One name for each piece of memory: buffers of one parameter, read as different types, are one
// piece, and so are buffers that may overlap.
std::string scopeName(const kernel::Kernel& kernel, size_t buffer) {
  const kernel::Buffer& b = kernel.buffers[buffer];
  if (b.alias_of >= 0) return scopeName(kernel, static_cast<size_t>(b.alias_of));
  return b.param >= 0 ? cat('p', b.param) : cat('s', b.scratch_offset);
}

}  // namespace

llvm::Type* Emitter::scalarType(Scalar scalar) {
  switch (scalar) {
    case Scalar::f32: return ir_.getFloatTy();
    case Scalar::f64: return ir_.getDoubleTy();
    default: return ir_.getIntNTy(kernel::bitWidth(scalar));
  }
}

llvm::BasicBlock* Emitter::newBlock(const char* name) {
  return llvm::BasicBlock::Create(module_.getContext(), name, function_);
}

void Emitter::emitKernel() {
  values_.resize(kernel_.values.size());
  shuffles_.resize(kernel_.values.size());
  declareFunctions();
  declareFunction();
  ir_.SetInsertPoint(newBlock("entry"));
  const kernel::Block& body = kernel_.blocks[0];
  for (size_t i = 0; i < body.args.size(); ++i) value(body.args[i]) = function_->getArg(i + 1);
  loadBuffers();
  emitBlock(0);
  // Streaming stores are weakly ordered: nobody may be told of them before they are visible.
  if (backend_.streaming_fence && streams(kernel_))
    ir_.CreateIntrinsic(backend_.streaming_fence, {}, {});
  ir_.CreateRetVoid();
  if (has_variables_) promoteVariables();
}

void setAttributes(llvm::Function& function, int vector_bytes) {
  std::string width = std::to_string(vector_bytes * 8);
  llvm::AttrBuilder attributes(function.getContext());
  attributes.addAttribute(llvm::Attribute::NoUnwind);
  attributes.addAttribute("prefer-vector-width", width);
  attributes.addAttribute("min-legal-vector-width", width);
  function.addFnAttrs(attributes);
}

void alignSpills(llvm::Function& function, const kernel::Kernel& kernel, int vector_bytes) {
  constexpr size_t kMany = 150;
  // The rare functions' convention leaves no register for the frame.
  if (vector_bytes <= 16 || kernel.insts.size() < kMany || !kernel.functions.empty()) return;
  llvm::AttrBuilder attributes(function.getContext());
  attributes.addStackAlignmentAttr(llvm::Align(static_cast<uint64_t>(vector_bytes)));
  function.addFnAttrs(attributes);
}

void Emitter::declareFunction() {
  llvm::Type* pointer = ir_.getPtrTy();
  llvm::Type* i64 = ir_.getInt64Ty();
  auto* type = llvm::FunctionType::get(ir_.getVoidTy(), {pointer, i64, i64, pointer}, false);
  function_ = llvm::Function::Create(type, llvm::GlobalValue::ExternalLinkage, kernel_.name,
                                     module_);
  TERCEL_CHECK(function_->getName() == kernel_.name, "two kernels called ", kernel_.name);
  setAttributes(*function_, target_.vector_bytes);
  alignSpills(*function_, kernel_, target_.vector_bytes);
  for (unsigned i : {0u, 3u}) {
    function_->addParamAttr(i, llvm::Attribute::NoAlias);
    function_->addParamAttr(i, llvm::Attribute::NoUndef);
  }
}

void Emitter::loadBuffers() {
  const std::vector<bool> variables = findVariables(kernel_);
  for (size_t i = 0; i < kernel_.buffers.size(); ++i) {
    const kernel::Buffer& buffer = kernel_.buffers[i];
    has_variables_ |= variables[i];
    buffers_.push_back(variables[i] ? variable(buffer) : addressOf(buffer));
  }
  tellBuffersApart();
}

llvm::Value* Emitter::addressOf(const kernel::Buffer& buffer) {
  if (buffer.param < 0)
    return ir_.CreateConstInBoundsGEP1_64(ir_.getInt8Ty(), function_->getArg(3),
                                          buffer.scratch_offset);
  Value* slot =
      ir_.CreateConstInBoundsGEP1_64(ir_.getPtrTy(), function_->getArg(0), buffer.param);
  llvm::LoadInst* base = ir_.CreateAlignedLoad(ir_.getPtrTy(), slot, llvm::Align(8));
  llvm::MDNode* nothing = llvm::MDNode::get(module_.getContext(), {});
  base->setMetadata(llvm::LLVMContext::MD_invariant_load, nothing);
  base->setMetadata(llvm::LLVMContext::MD_noundef, nothing);
  return base;
}

// A scope for each piece of memory, and those of others that are written.
void Emitter::tellBuffersApart() {
  llvm::LLVMContext& context = module_.getContext();
  llvm::MDNode* domain = llvm::MDNode::get(context, llvm::MDString::get(context, "tercel"));
  std::vector<llvm::Metadata*> scopes;
  for (size_t i = 0; i < kernel_.buffers.size(); ++i) {
    scopes.push_back(
        llvm::MDNode::get(context, {llvm::MDString::get(context, scopeName(kernel_, i)), domain}));
    own_scope_.push_back(llvm::MDNode::get(context, scopes.back()));
  }
  for (size_t i = 0; i < scopes.size(); ++i) {
    llvm::SmallVector<llvm::Metadata*, 8> written;
    bool invariant = true;
    for (size_t j = 0; j < scopes.size(); ++j) {
      if (kernel_.buffers[j].read_only) continue;
      if (scopes[j] == scopes[i]) invariant = false;
      else if (!llvm::is_contained(written, scopes[j])) written.push_back(scopes[j]);
    }
    other_scopes_.push_back(llvm::MDNode::get(context, written));
    invariant_.push_back(invariant);
  }
}

void Emitter::emitBlock(BlockId id) {
  for (kernel::InstId i : kernel_.blocks[id].insts) {
    const Inst& inst = kernel_.insts[i];
    bool hoisted = !inst.results.empty() && value(inst.results[0]);
    if (hoisted) continue;
    if (inst.op == Opcode::shuffle) breakShuffleChain(inst);
    emitInst(inst);
  }
}

// Emits what the block, a loop's body, computes anew in each trip: loads that the builder could not
// move out of a loop that may run no trip, and what depends on them alone.
void Emitter::hoist(const kernel::Block& block) {
  for (kernel::InstId id : block.insts) {
    const Inst& inst = kernel_.insts[id];
    if (inst.results.empty() || instClass(inst.op) >= InstClass::state) continue;
    bool loads = instClass(inst.op) == InstClass::memory;
    if (loads && !invariant_[static_cast<size_t>(inst.imm)]) continue;
    bool known = true;
    for (V v : inst.operands) known &= value(v) != nullptr;
    if (known) emitInst(inst);
  }
}

// LLVM selects instructions block by block, and looks at each shuffle through all that lead to it
// within its block: in a new one a chain of them begins anew.
void Emitter::breakShuffleChain(const Inst& inst) {
  constexpr int kLongest = 2;
  auto longest = [&] {
    int length = 0;
    for (V v : inst.operands) length = std::max(length, shuffles_[v.index] - broken_at_);
    return length;
  };
  if (longest() >= kLongest) {
    llvm::BasicBlock* next = newBlock("next");
    ir_.CreateBr(next);
    ir_.SetInsertPoint(next);
    broken_at_ = last_shuffles_;
  }
  int& length = shuffles_[inst.results[0].index];
  length = broken_at_ + longest() + 1;
  last_shuffles_ = std::max(last_shuffles_, length);
}

void Emitter::emitInst(const Inst& inst) {
  switch (kernel::instClass(inst.op)) {
    case InstClass::pure: value(inst.results[0]) = emitPure(inst); return;
    case InstClass::memory: emitMemory(inst); return;
    case InstClass::state: emitState(inst); return;
    case InstClass::control: break;
  }
  if (inst.op == Opcode::for_) return emitFor(inst);
  if (inst.op == Opcode::while_) return emitWhile(inst);
  emitIf(inst);
}

llvm::PHINode* Emitter::phi(V v) {
  llvm::PHINode* node = ir_.CreatePHI(type(kernel_.type(v)), 2);
  value(v) = node;
  return node;
}

// The rotated form LLVM's loop passes want: guard, preheader, body, exit of its own, join.
void Emitter::emitFor(const Inst& inst) {
  const kernel::Block& block = kernel_.blocks[inst.blocks[0]];
  Value *lo = operand(inst, 0), *hi = operand(inst, 1);
  llvm::BasicBlock* before = ir_.GetInsertBlock();
  llvm::BasicBlock* preheader = before;
  bool guarded = !kernel::runsAtLeastOnce(kernel_, inst.operands[0], inst.operands[1]);
  if (guarded) preheader = newBlock("preheader");
  llvm::BasicBlock* body = newBlock("for");
  llvm::BasicBlock* join = nullptr;
  if (guarded) {
    join = newBlock("join");
    ir_.CreateCondBr(ir_.CreateICmpSLT(lo, hi), preheader, join);
    ir_.SetInsertPoint(preheader);
  }
  hoist(block);
  preheader = ir_.GetInsertBlock();
  ir_.CreateBr(body);

  ir_.SetInsertPoint(body);
  llvm::SmallVector<llvm::PHINode*, 8> phis;
  for (V arg : block.args) phis.push_back(phi(arg));
  phis[0]->addIncoming(lo, preheader);
  for (size_t i = 1; i < phis.size(); ++i) phis[i]->addIncoming(operand(inst, i + 1), preheader);
  emitBlock(inst.blocks[0]);
  llvm::BasicBlock* latch = ir_.GetInsertBlock();
  Value* next = ir_.CreateNSWAdd(phis[0], ir_.getInt64(inst.imm));
  phis[0]->addIncoming(next, latch);
  for (size_t i = 1; i < phis.size(); ++i) phis[i]->addIncoming(value(block.yields[i - 1]), latch);
  llvm::BasicBlock* exit = newBlock("exit");
  ir_.CreateCondBr(ir_.CreateICmpSLT(next, hi), body, exit);

  ir_.SetInsertPoint(exit);
  for (size_t i = 0; i < inst.results.size(); ++i) value(inst.results[i]) = value(block.yields[i]);
  if (!guarded) return;
  ir_.CreateBr(join);
  ir_.SetInsertPoint(join);
  for (size_t i = 0; i < inst.results.size(); ++i) {
    Value* last = value(block.yields[i]);
    llvm::PHINode* node = phi(inst.results[i]);
    node->addIncoming(operand(inst, i + 2), before);
    node->addIncoming(last, exit);
  }
}

void Emitter::emitWhile(const Inst& inst) {
  const kernel::Block& condition = kernel_.blocks[inst.blocks[0]];
  const kernel::Block& loop = kernel_.blocks[inst.blocks[1]];
  llvm::BasicBlock* before = ir_.GetInsertBlock();
  llvm::BasicBlock* header = newBlock("while");
  ir_.CreateBr(header);
  ir_.SetInsertPoint(header);
  llvm::SmallVector<llvm::PHINode*, 8> phis;
  for (size_t i = 0; i < condition.args.size(); ++i) {
    phis.push_back(phi(condition.args[i]));
    phis[i]->addIncoming(operand(inst, i), before);
    value(loop.args[i]) = phis[i];
    value(inst.results[i]) = phis[i];
  }
  emitBlock(inst.blocks[0]);
  llvm::BasicBlock* body = newBlock("do");
  llvm::BasicBlock* exit = newBlock("exit");
  ir_.CreateCondBr(value(condition.yields[0]), body, exit);
  ir_.SetInsertPoint(body);
  emitBlock(inst.blocks[1]);
  for (size_t i = 0; i < phis.size(); ++i)
    phis[i]->addIncoming(value(loop.yields[i]), ir_.GetInsertBlock());
  ir_.CreateBr(header);
  ir_.SetInsertPoint(exit);
}

// A comparison of a block before is made again, where the branch takes its flags.
llvm::Value* Emitter::condition(const Inst& inst) {
  auto* compare = llvm::dyn_cast<llvm::ICmpInst>(operand(inst, 0));
  if (!compare || compare->getParent() == ir_.GetInsertBlock()) return operand(inst, 0);
  return ir_.Insert(compare->clone());
}

void Emitter::emitIf(const Inst& inst) {
  llvm::BasicBlock* then_block = newBlock("then");
  llvm::BasicBlock* join = newBlock("join");
  bool has_else = !kernel_.blocks[inst.blocks[1]].insts.empty();
  llvm::BasicBlock* else_block = has_else ? newBlock("else") : join;
  llvm::BasicBlock* ends[2] = {nullptr, ir_.GetInsertBlock()};
  ir_.CreateCondBr(condition(inst), then_block, else_block);
  for (int i = 0; i < (has_else ? 2 : 1); ++i) {
    ir_.SetInsertPoint(i == 0 ? then_block : else_block);
    emitBlock(inst.blocks[i]);
    ends[i] = ir_.GetInsertBlock();
    ir_.CreateBr(join);
  }
  ir_.SetInsertPoint(join);
  for (size_t r = 0; r < inst.results.size(); ++r) {
    llvm::PHINode* node = phi(inst.results[r]);
    for (int i = 0; i < 2; ++i)
      node->addIncoming(value(kernel_.blocks[inst.blocks[i]].yields[r]), ends[i]);
  }
}

}  // namespace tercel::codegen
