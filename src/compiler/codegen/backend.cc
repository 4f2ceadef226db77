#include "compiler/codegen/backend.h"

#include <llvm/IR/IntrinsicsX86.h>
#include <llvm/Support/CommandLine.h>

#include <initializer_list>
#include <mutex>
#include <string>

#include "core/status.h"

extern "C" {
void LLVMInitializeX86TargetInfo();
void LLVMInitializeX86Target();
void LLVMInitializeX86TargetMC();
void LLVMInitializeX86AsmPrinter();
void LLVMInitializeAArch64TargetInfo();
void LLVMInitializeAArch64Target();
void LLVMInitializeAArch64TargetMC();
void LLVMInitializeAArch64AsmPrinter();
}

namespace tercel::codegen {
namespace {

using Initializers = std::initializer_list<void (*)()>;

// LLVM's list of targets has no lock.
const llvm::Target* registered(const char* triple, Initializers initializers) {
  static std::mutex one_at_a_time;
  std::lock_guard lock(one_at_a_time);
  for (auto* initialize : initializers) initialize();
  std::string error;
  const llvm::Target* found = llvm::TargetRegistry::lookupTarget(triple, error);
  TERCEL_CHECK(found, error);
  return found;
}

// For the process, and before anything is compiled.
void setOption(llvm::StringRef name, llvm::StringRef value) {
  auto& options = llvm::cl::getRegisteredOptions();
  auto at = options.find(name);
  TERCEL_CHECK(at != options.end(), "LLVM has no option ", std::string_view(name));
  at->second->addOccurrence(0, name, value);
}

Backend x86() {
  // What can be made again where it is wanted, as constants can, is not split by region: that takes
  // long, and a constant is as good an operand in memory.
  setOption("huge-size-for-split", "0");
  constexpr const char* kTriple = "x86_64-unknown-linux-gnu";
  return {kTriple,
          registered(kTriple, {LLVMInitializeX86TargetInfo, LLVMInitializeX86Target,
                               LLVMInitializeX86TargetMC, LLVMInitializeX86AsmPrinter}),
          llvm::CallingConv::Intel_OCL_BI, llvm::Intrinsic::x86_sse_sfence,
          /*has_own_pipeline=*/true};
}

Backend arm() {
  constexpr const char* kTriple = "aarch64-unknown-linux-gnu";
  return {kTriple,
          registered(kTriple, {LLVMInitializeAArch64TargetInfo, LLVMInitializeAArch64Target,
                               LLVMInitializeAArch64TargetMC, LLVMInitializeAArch64AsmPrinter}),
          llvm::CallingConv::AArch64_VectorCall, llvm::Intrinsic::not_intrinsic,
          /*has_own_pipeline=*/false};
}

}  // namespace

const Backend& backendOf(Architecture architecture) {
  if (architecture == Architecture::aarch64) {
    static const Backend backend = arm();
    return backend;
  }
  static const Backend backend = x86();
  return backend;
}

}  // namespace tercel::codegen
