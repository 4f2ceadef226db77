// Scratch memory that needs none: small buffers that are only read and written at places known now
// are variables, which LLVM turns into values.
#include <llvm/Analysis/AssumptionCache.h>
#include <llvm/Analysis/TargetTransformInfo.h>
#include <llvm/IR/Dominators.h>
#include <llvm/IR/PassInstrumentation.h>
#include <llvm/IR/PassManager.h>
#include <llvm/Transforms/Scalar/SROA.h>

#include "compiler/codegen/emitter.h"
#include "compiler/codegen/registers.h"
#include "compiler/kernel/promote_slots.h"

namespace tercel::codegen {

std::vector<bool> findVariables(const kernel::Kernel& kernel) {
  constexpr int64_t kMaxBytes = 256;  // four of the widest registers
  std::vector<bool> variable;
  for (const kernel::Buffer& buffer : kernel.buffers) {
    int64_t bytes = buffer.elements * kernel::byteSize(buffer.element);
    variable.push_back(bytes > 0 && bytes <= kMaxBytes);
  }
  std::vector<bool> accessed(variable.size());
  for (const kernel::Inst& inst : kernel.insts) {
    if (kernel::instClass(inst.op) != kernel::InstClass::memory) continue;
    accessed[static_cast<size_t>(inst.imm)] = true;
    if (!kernel::rangeOf(kernel, inst)) variable[static_cast<size_t>(inst.imm)] = false;
  }
  for (size_t i = 0; i < variable.size(); ++i) variable[i] = variable[i] && accessed[i];
  return variable;
}

llvm::Value* Emitter::variable(const kernel::Buffer& buffer) {
  int64_t bytes = buffer.elements * kernel::byteSize(buffer.element) + kernel::kScratchSlack;
  auto* type = llvm::ArrayType::get(ir_.getInt8Ty(), static_cast<uint64_t>(bytes));
  llvm::AllocaInst* place = ir_.CreateAlloca(type);
  place->setAlignment(llvm::Align(64));
  return place;
}

void Emitter::promoteVariables() {
  llvm::FunctionAnalysisManager analyses;
  analyses.registerPass([] { return llvm::PassInstrumentationAnalysis(); });
  analyses.registerPass([] { return llvm::DominatorTreeAnalysis(); });
  analyses.registerPass([] { return llvm::TargetIRAnalysis(); });
  analyses.registerPass([] { return llvm::AssumptionAnalysis(); });
  llvm::SROAPass(llvm::SROAOptions::PreserveCFG).run(*function_, analyses);
}

}  // namespace tercel::codegen
