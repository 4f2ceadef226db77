// What a kernel has once, for the vectors that seldom come: functions of the object, called from
// where a condition holds.
#include <llvm/IR/MDBuilder.h>

#include "compiler/codegen/emitter.h"

namespace tercel::codegen {

namespace {

// Its functions keep half of the vector registers, and so what the caller's loop has in them.
constexpr llvm::CallingConv::ID kConvention = llvm::CallingConv::Intel_OCL_BI;

}  // namespace

llvm::Function* Emitter::emitFunction(const kernel::Function& function) {
  const kernel::Block& body = kernel_.blocks[function.body];
  llvm::SmallVector<llvm::Type*, 8> args;
  for (V v : body.args) args.push_back(type(kernel_.type(v)));
  auto* signature = llvm::FunctionType::get(type(kernel_.type(body.yields[0])), args, false);
  if (llvm::Function* known = module_.getFunction(function.name)) {
    TERCEL_CHECK(known->getFunctionType() == signature, "two functions called ", function.name);
    return known;
  }
  function_ = llvm::Function::Create(signature, llvm::GlobalValue::InternalLinkage, function.name,
                                     module_);
  function_->setCallingConv(kConvention);
  setAttributes(function_);
  for (size_t i = 0; i < body.args.size(); ++i) value(body.args[i]) = function_->getArg(i);
  ir_.SetInsertPoint(newBlock("entry"));
  emitBlock(function.body);
  ir_.CreateRet(value(body.yields[0]));
  return function_;
}

llvm::Value* Emitter::emitRarely(const Inst& inst) {
  constexpr uint32_t kOften = 1000;
  llvm::BasicBlock* before = ir_.GetInsertBlock();
  llvm::BasicBlock *rare = newBlock("rare"), *join = newBlock("join");
  ir_.CreateCondBr(operand(inst, 0), rare, join,
                   llvm::MDBuilder(module_.getContext()).createBranchWeights(1, kOften));
  ir_.SetInsertPoint(rare);
  llvm::SmallVector<Value*, 8> args;
  for (size_t i = 1; i < inst.operands.size(); ++i) args.push_back(operand(inst, i));
  llvm::CallInst* call = ir_.CreateCall(functions_[static_cast<size_t>(inst.imm)], args);
  call->setCallingConv(kConvention);
  ir_.CreateBr(join);
  ir_.SetInsertPoint(join);
  llvm::PHINode* result = ir_.CreatePHI(type(inst.type), 2);
  result->addIncoming(args[0], before);
  result->addIncoming(call, rare);
  return result;
}

}  // namespace tercel::codegen
