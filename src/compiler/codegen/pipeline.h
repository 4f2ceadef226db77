// The passes between LLVM IR and machine code of x86-64, in order.
#pragma once
#include <llvm/CodeGen/TargetPassConfig.h>
#include <llvm/IR/LegacyPassManager.h>

#include "compiler/codegen/codegen.h"

namespace tercel::codegen {

// Who chooses machine instructions: Selector, before the passes run, or LLVM's first pass.
enum class Selection { own, llvm };

// False where LLVM has no instruction selector for the target.
bool addCodegenPasses(llvm::legacy::PassManagerBase& passes, llvm::TargetPassConfig& config,
                      const CodegenOptions& options, Selection selection);

}  // namespace tercel::codegen
