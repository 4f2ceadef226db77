// LLVM's code generator for one target, for one caller at a time. Building its pass pipeline and
// its subtarget costs more than compiling a small kernel with it.
#pragma once
#include <llvm/ADT/SmallVector.h>
#include <llvm/IR/LLVMContext.h>
#include <llvm/IR/LegacyPassManager.h>
#include <llvm/IR/Module.h>
#include <llvm/Support/raw_ostream.h>
#include <llvm/Target/TargetMachine.h>

#include <memory>

#include "compiler/codegen/codegen.h"
#include "compiler/codegen/pipeline.h"

namespace llvm {
class MachineModuleInfo;
}

namespace tercel::codegen {

enum class Output { object, assembly };

class Machine {
 public:
  Machine(const Target& target, const CodegenOptions& options, Output output,
          Selection selection);

  std::unique_ptr<llvm::Module> newModule(llvm::LLVMContext& context) const;
  // Adds a kernel whose instructions are already selected to `module`; false where Selector lacks
  // something, and the module is of no use then.
  bool select(const kernel::Kernel& kernel, llvm::Module& module);
  // The machine code of `module`, which it consumes. Valid until the next call.
  llvm::StringRef run(llvm::Module& module);

  bool serves(const Target& target, const CodegenOptions& options, Selection selection) const {
    return selection_ == selection && target_.architecture == target.architecture &&
           target_.cpu == target.cpu && target_.features == target.features &&
           level_ == options.opt_level && verify_ == options.verify;
  }

 private:
  // False where LLVM lacks a part of it.
  bool addOwnPasses(const CodegenOptions& options, llvm::CodeGenFileType file);

  const Target target_;
  int level_;
  bool verify_;
  Selection selection_;
  llvm::MachineModuleInfo* module_info_ = nullptr;
  std::unique_ptr<llvm::LLVMTargetMachine> machine_;
  llvm::SmallVector<char, 0> bytes_;
  llvm::raw_svector_ostream stream_{bytes_};
  llvm::legacy::PassManager passes_;
};

}  // namespace tercel::codegen
