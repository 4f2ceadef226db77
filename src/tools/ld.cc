// tercel-ld: the linker of LLVM (LLD, ELF only) in an executable of its own, since it keeps global
// state and ends the process where it fails. aot/linker.cc starts it.
#include <lld/Common/Driver.h>
#include <llvm/Support/raw_ostream.h>

#include <vector>

LLD_HAS_DRIVER(elf)

// LLD registers every target for link-time optimisation, which is not used here: no target is linked
// in.
extern "C" {
#define LLVM_TARGET(name)                       \
  void LLVMInitialize##name##TargetInfo() {}    \
  void LLVMInitialize##name##Target() {}        \
  void LLVMInitialize##name##TargetMC() {}
#include <llvm/Config/Targets.def>
#define LLVM_ASM_PARSER(name) void LLVMInitialize##name##AsmParser() {}
#include <llvm/Config/AsmParsers.def>
#define LLVM_ASM_PRINTER(name) void LLVMInitialize##name##AsmPrinter() {}
#include <llvm/Config/AsmPrinters.def>
}

int main(int count, char** words) {
  std::vector<const char*> arguments(words, words + count);
  return lld::elf::link(arguments, llvm::outs(), llvm::errs(), /*exitEarly=*/true,
                        /*disableOutput=*/false)
             ? 0
             : 1;
}
