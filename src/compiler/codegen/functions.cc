// What kernels share: functions in objects of their own, called where a condition holds that seldom
// does.
#include <llvm/IR/MDBuilder.h>

#include "compiler/codegen/emitter.h"

namespace tercel::codegen {

void Emitter::declareFunctions() {
  for (const kernel::Function& function : kernel_.functions) {
    const kernel::Block& body = kernel_.blocks[function.body];
    llvm::SmallVector<llvm::Type*, 8> args;
    for (V v : body.args) args.push_back(type(kernel_.type(v)));
    auto* signature = llvm::FunctionType::get(type(kernel_.type(body.yields[0])), args, false);
    llvm::Function* declared = module_.getFunction(function.name);
    if (!declared) {
      declared = llvm::Function::Create(signature, llvm::GlobalValue::ExternalLinkage,
                                        function.name, module_);
      declared->setCallingConv(backend_.rare_convention);
      setAttributes(*declared, target_.vector_bytes);
    }
    TERCEL_CHECK(declared->getFunctionType() == signature, "two functions called ", function.name);
    functions_.push_back(declared);
  }
}

void Emitter::emitFunction(kernel::FunctionId id) {
  values_.resize(kernel_.values.size());
  shuffles_.resize(kernel_.values.size());
  declareFunctions();
  const kernel::Block& body = kernel_.blocks[kernel_.functions[id].body];
  function_ = functions_[id];
  // By the convention ymm8 to ymm15 keep what they hold; LLVM would clear their upper halves where a
  // short vector is returned.
  if (target_.has_avx2 && !target_.has_avx512)
    function_->addFnAttr("target-features", cat(target_.features, ",-vzeroupper"));
  for (size_t i = 0; i < body.args.size(); ++i) value(body.args[i]) = function_->getArg(i);
  ir_.SetInsertPoint(newBlock("entry"));
  emitBlock(kernel_.functions[id].body);
  ir_.CreateRet(value(body.yields[0]));
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
  call->setCallingConv(backend_.rare_convention);
  ir_.CreateBr(join);
  ir_.SetInsertPoint(join);
  llvm::PHINode* result = ir_.CreatePHI(type(inst.type), 2);
  result->addIncoming(args[0], before);
  result->addIncoming(call, rare);
  return result;
}

}  // namespace tercel::codegen
