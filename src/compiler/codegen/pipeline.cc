#include "compiler/codegen/pipeline.h"

#include <llvm/Analysis/ScopedNoAliasAA.h>
#include <llvm/CodeGen/Passes.h>
#include <llvm/PassRegistry.h>

// LLVM's library has these, its installed headers do not.
namespace llvm {
FunctionPass* createX86CompressEVEXPass();
FunctionPass* createX86ExpandPseudoPass();
FunctionPass* createX86FixupLEAs();
FunctionPass* createX86FixupVectorConstants();
FunctionPass* createX86FlagsCopyLoweringPass();
FunctionPass* createX86IssueVZeroUpperPass();
}  // namespace llvm

namespace tercel::codegen {
namespace {

class Pipeline {
 public:
  Pipeline(llvm::legacy::PassManagerBase& passes, bool verify)
      : passes_(passes), verify_(verify) {}

  void add(llvm::Pass* pass) { passes_.add(pass); }
  void add(char& id) { add(llvm::Pass::createPass(&id)); }
  void add(const char* registered) {
    const auto& registry = *llvm::PassRegistry::getPassRegistry();
    const llvm::PassInfo* info = registry.getPassInfo(llvm::StringRef(registered));
    TERCEL_CHECK(info, "LLVM has no pass ", registered);
    add(info->createPass());
  }
  void check(const char* stage) {
    if (verify_) add(llvm::createMachineVerifierPass(stage));
  }

 private:
  llvm::legacy::PassManagerBase& passes_;
  bool verify_;
};

}  // namespace

// LLVM's own pipeline has 120 passes, most of them for C++ programs or for other machines. Kernels
// arrive with their loops, addresses and vectors already chosen, so no pass over the IR is left
// (registers.cc runs one where a kernel has variables), and what follows is what each kernel needs.
// With all of them a kernel takes a fifth longer.
bool addCodegenPasses(llvm::legacy::PassManagerBase& passes, llvm::TargetPassConfig& config,
                      const CodegenOptions& options, Selection selection) {
  Pipeline p(passes, options.verify);
  // The scopes say which buffers overlap; instruction selection and scheduling ask.
  p.add(llvm::createScopedNoAliasAAWrapperPass());
  if (selection == Selection::llvm && config.addInstSelector()) return false;
  p.add(llvm::FinalizeISelID);
  if (selection == Selection::own) p.check("Selected");

  // LLVM's selection sees one block at a time: constants leave loops and are shared here.
  if (selection == Selection::llvm) {
    p.add(llvm::EarlyMachineLICMID);
    p.add(llvm::MachineCSEID);
  }
  p.add(llvm::PeepholeOptimizerID);
  p.add(llvm::DeadMachineInstructionElimID);
  p.add(llvm::createX86FlagsCopyLoweringPass());
  p.check("After selection");

  p.add(llvm::UnreachableMachineBlockElimID);
  p.add(llvm::ProcessImplicitDefsID);
  p.add(llvm::LiveVariablesID);
  p.add(llvm::PHIEliminationID);
  p.add(llvm::TwoAddressInstructionPassID);
  p.add(llvm::RegisterCoalescerID);
  p.add(llvm::MachineSchedulerID);
  p.add(llvm::createGreedyRegisterAllocator());
  p.add(llvm::VirtRegRewriterID);
  p.add(llvm::StackSlotColoringID);
  p.add(llvm::MachineCopyPropagationID);
  p.check("After register allocation");

  p.add(llvm::PrologEpilogCodeInserterID);
  p.add(llvm::BranchFolderPassID);  // empty blocks left by loops without a guard
  p.add(llvm::ExpandPostRAPseudosID);
  p.add(llvm::createX86ExpandPseudoPass());
  p.add(llvm::MachineBlockPlacementID);  // turns `while` loops around
  p.add("x86-execution-domain-fix");
  p.add(llvm::createBreakFalseDeps());
  p.add(llvm::createX86IssueVZeroUpperPass());
  p.add(llvm::createX86FixupLEAs());
  p.add(llvm::createX86FixupVectorConstants());  // splat constants become broadcasts
  p.add(llvm::createX86CompressEVEXPass());
  p.check("Before printing");
  return true;
}

}  // namespace tercel::codegen
