// LLVM's instructions, registers and classes of x86 by name: their numbers are in no header that is
// installed.
#pragma once
#include <llvm/ADT/StringMap.h>
#include <llvm/CodeGen/TargetInstrInfo.h>
#include <llvm/CodeGen/TargetRegisterInfo.h>

namespace tercel::codegen {

class X86Names {
 public:
  // One for the process: all subtargets number alike.
  static const X86Names& of(const llvm::TargetInstrInfo& insts,
                            const llvm::TargetRegisterInfo& classes);

  // Each is a bug of ours where LLVM has no such name.
  unsigned instruction(llvm::StringRef name) const;
  unsigned physical(llvm::StringRef name) const;
  unsigned part(llvm::StringRef name) const;  // of a register: sub_xmm
  const llvm::TargetRegisterClass* registerClass(llvm::StringRef name) const;

 private:
  X86Names(const llvm::TargetInstrInfo& insts, const llvm::TargetRegisterInfo& classes);
  llvm::StringMap<unsigned> instructions_, registers_, parts_;
  llvm::StringMap<const llvm::TargetRegisterClass*> classes_;
};

}  // namespace tercel::codegen
