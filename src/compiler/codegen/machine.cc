#include "compiler/codegen/machine.h"

#include <llvm/CodeGen/MachineModuleInfo.h>
#include <llvm/CodeGen/Passes.h>
#include <llvm/IR/Instructions.h>
#include <llvm/Target/TargetLoweringObjectFile.h>

#include "compiler/codegen/backend.h"
#include "compiler/codegen/emitter.h"
#include "compiler/codegen/selector.h"

namespace tercel::codegen {

Machine::Machine(const Target& target, const CodegenOptions& options, Output output,
                 Selection selection)
    : target_(target), level_(options.opt_level), verify_(options.verify), selection_(selection) {
  const Backend& backend = backendOf(target.architecture);
  llvm::TargetOptions target_options;
  target_options.AllowFPOpFusion = llvm::FPOpFusion::Standard;  // of fmuladd and nothing else
  auto level = static_cast<llvm::CodeGenOptLevel>(options.opt_level);
  machine_.reset(static_cast<llvm::LLVMTargetMachine*>(
      backend.target->createTargetMachine(backend.triple, target.cpu, target.features,
                                          target_options, llvm::Reloc::PIC_,
                                          llvm::CodeModel::Small, level)));
  TERCEL_CHECK(machine_, "no code generator for ", target.cpu);
  const auto file = output == Output::object ? llvm::CodeGenFileType::ObjectFile
                                             : llvm::CodeGenFileType::AssemblyFile;
  const bool can_write = backend.has_own_pipeline
                             ? addOwnPasses(options, file)
                             : !machine_->addPassesToEmitFile(passes_, stream_, nullptr, file,
                                                              /*DisableVerify=*/!options.verify);
  TERCEL_CHECK(can_write, "LLVM cannot write code for ", target.cpu);
}

bool Machine::addOwnPasses(const CodegenOptions& options, llvm::CodeGenFileType file) {
  auto* module_info = new llvm::MachineModuleInfoWrapperPass(machine_.get());
  module_info_ = &module_info->getMMI();
  llvm::TargetPassConfig* config = machine_->createPassConfig(passes_);
  config->setDisableVerify(!options.verify);
  passes_.add(config);
  passes_.add(module_info);
  if (!addCodegenPasses(passes_, *config, options, selection_)) return false;
  config->setInitialized();
  if (machine_->addAsmPrinter(passes_, stream_, nullptr, file,
                              module_info->getMMI().getContext())) {
    return false;
  }
  passes_.add(llvm::createFreeMachineFunctionPass());
  return true;
}

std::unique_ptr<llvm::Module> Machine::newModule(llvm::LLVMContext& context) const {
  auto module = std::make_unique<llvm::Module>("tercel", context);
  module->setTargetTriple(backendOf(target_.architecture).triple);
  module->setDataLayout(machine_->createDataLayout());
  return module;
}

bool Machine::select(const kernel::Kernel& kernel, llvm::Module& module) {
  const Backend& backend = backendOf(target_.architecture);
  llvm::LLVMContext& context = module.getContext();
  llvm::Type* nothing = llvm::Type::getVoidTy(context);
  auto declare = [&](const std::string& name, llvm::ArrayRef<llvm::Type*> arguments) {
    return llvm::Function::Create(llvm::FunctionType::get(nothing, arguments, false),
                                  llvm::GlobalValue::ExternalLinkage, name, module);
  };
  std::vector<llvm::Function*> functions;
  for (const kernel::Function& function : kernel.functions) {
    llvm::Function* known = module.getFunction(function.name);
    functions.push_back(known ? known : declare(function.name, {}));
    functions.back()->setCallingConv(backend.rare_convention);
  }
  // For LLVM a function that does nothing; what it does is in its machine instructions.
  llvm::SmallVector<llvm::Type*, 8> pieces(kernel.buffers.size(),
                                           llvm::PointerType::get(context, 0));
  llvm::Function* function = declare(kernel.name, pieces);
  for (llvm::Argument& piece : function->args()) piece.addAttr(llvm::Attribute::NoAlias);
  setAttributes(*function, target_.vector_bytes);
  alignSpills(*function, kernel, target_.vector_bytes);
  llvm::ReturnInst::Create(context, llvm::BasicBlock::Create(context, "", function));
  Selector selector(module_info_->getOrCreateMachineFunction(*function), kernel,
                    std::move(functions), target_);
  if (selector.run()) return true;
  module_info_->deleteMachineFunctionFor(*function);
  return false;
}

llvm::StringRef Machine::run(llvm::Module& module) {
  bytes_.clear();
  passes_.run(module);
  return {bytes_.data(), bytes_.size()};
}

}  // namespace tercel::codegen
