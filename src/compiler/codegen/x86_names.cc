#include "compiler/codegen/x86_names.h"

#include "core/status.h"

namespace tercel::codegen {
namespace {

template <class T>
const T& found(const llvm::StringMap<T>& map, llvm::StringRef name) {
  auto at = map.find(name);
  TERCEL_CHECK(at != map.end(), "LLVM has no ", std::string_view(name));
  return at->second;
}

}  // namespace

const X86Names& X86Names::of(const llvm::TargetInstrInfo& insts,
                             const llvm::TargetRegisterInfo& classes) {
  static const auto* names = new X86Names(insts, classes);
  return *names;
}

X86Names::X86Names(const llvm::TargetInstrInfo& insts, const llvm::TargetRegisterInfo& classes)
    : instructions_(2 * insts.getNumOpcodes()) {
  for (unsigned i = 0; i < insts.getNumOpcodes(); ++i) instructions_[insts.getName(i)] = i;
  for (unsigned i = 1; i < classes.getNumRegs(); ++i) registers_[classes.getName(i)] = i;
  for (unsigned i = 1; i < classes.getNumSubRegIndices(); ++i)
    parts_[classes.getSubRegIndexName(i)] = i;
  for (const llvm::TargetRegisterClass* c : classes.regclasses())
    classes_[classes.getRegClassName(c)] = c;
}

unsigned X86Names::instruction(llvm::StringRef name) const { return found(instructions_, name); }
unsigned X86Names::physical(llvm::StringRef name) const { return found(registers_, name); }
unsigned X86Names::part(llvm::StringRef name) const { return found(parts_, name); }
const llvm::TargetRegisterClass* X86Names::registerClass(llvm::StringRef name) const {
  return found(classes_, name);
}

}  // namespace tercel::codegen
