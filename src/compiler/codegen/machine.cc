#include "compiler/codegen/machine.h"

#include <llvm/CodeGen/MachineModuleInfo.h>
#include <llvm/CodeGen/Passes.h>
#include <llvm/MC/TargetRegistry.h>
#include <llvm/Target/TargetLoweringObjectFile.h>

#include "compiler/codegen/pipeline.h"

extern "C" {
void LLVMInitializeX86TargetInfo();
void LLVMInitializeX86Target();
void LLVMInitializeX86TargetMC();
void LLVMInitializeX86AsmPrinter();
}

namespace tercel::codegen {
namespace {

constexpr const char* kTriple = "x86_64-unknown-linux-gnu";

const llvm::Target& x86() {
  static const llvm::Target* target = [] {
    LLVMInitializeX86TargetInfo();
    LLVMInitializeX86Target();
    LLVMInitializeX86TargetMC();
    LLVMInitializeX86AsmPrinter();
    std::string error;
    const llvm::Target* found = llvm::TargetRegistry::lookupTarget(kTriple, error);
    TERCEL_CHECK(found, error);
    return found;
  }();
  return *target;
}

}  // namespace

Machine::Machine(const Target& target, const CodegenOptions& options, Output output)
    : cpu_(target.cpu), features_(target.features), level_(options.opt_level),
      verify_(options.verify) {
  llvm::TargetOptions target_options;
  target_options.AllowFPOpFusion = llvm::FPOpFusion::Strict;
  auto level = static_cast<llvm::CodeGenOptLevel>(options.opt_level);
  machine_.reset(static_cast<llvm::LLVMTargetMachine*>(
      x86().createTargetMachine(kTriple, cpu_, features_, target_options, llvm::Reloc::PIC_,
                                llvm::CodeModel::Small, level)));
  TERCEL_CHECK(machine_, "no code generator for ", cpu_);
  addPasses(options, output);
}

void Machine::addPasses(const CodegenOptions& options, Output output) {
  auto* module_info = new llvm::MachineModuleInfoWrapperPass(machine_.get());
  llvm::TargetPassConfig* config = machine_->createPassConfig(passes_);
  config->setDisableVerify(!options.verify);
  passes_.add(config);
  passes_.add(module_info);
  bool selects = addCodegenPasses(passes_, *config, options);
  TERCEL_CHECK(selects, "LLVM cannot select instructions for ", cpu_);
  config->setInitialized();
  bool failed = machine_->addAsmPrinter(
      passes_, stream_, nullptr,
      output == Output::object ? llvm::CodeGenFileType::ObjectFile
                               : llvm::CodeGenFileType::AssemblyFile,
      module_info->getMMI().getContext());
  TERCEL_CHECK(!failed, "LLVM cannot write code for ", cpu_);
  passes_.add(llvm::createFreeMachineFunctionPass());
}

std::unique_ptr<llvm::Module> Machine::newModule(llvm::LLVMContext& context) const {
  auto module = std::make_unique<llvm::Module>("tercel", context);
  module->setTargetTriple(kTriple);
  module->setDataLayout(machine_->createDataLayout());
  return module;
}

llvm::StringRef Machine::run(llvm::Module& module) {
  bytes_.clear();
  passes_.run(module);
  return {bytes_.data(), bytes_.size()};
}

}  // namespace tercel::codegen
