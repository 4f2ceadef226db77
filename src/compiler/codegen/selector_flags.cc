#include <llvm/CodeGen/MachineFrameInfo.h>

#include "compiler/codegen/flags.h"
#include "compiler/codegen/selector.h"
#include "compiler/codegen/selector_names.h"

namespace tercel::codegen {

using kernel::Opcode;
using kernel::Scalar;

namespace {

// As llvm::addFrameReference, of a header that is not installed.
llvm::MachineInstrBuilder at(int place, const llvm::MachineInstrBuilder& inst) {
  return inst.addFrameIndex(place).addImm(1).addReg(0).addImm(0).addReg(0);
}

}  // namespace

Selector::Reg Selector::flags(int place) {
  at(place, start("VSTMXCSR", {}));
  Reg all = newReg({Scalar::i32, 1});
  at(place, start("MOV32rm", all));
  return all;
}

void Selector::state(const Inst& inst) {
  if (inst.op != Opcode::subnormals_met && inst.op != Opcode::subnormals_forget) return refuse();
  const Type word{Scalar::i32, 1};
  const int place = function_.getFrameInfo().CreateStackObject(4, llvm::Align(4), false);
  if (inst.op == Opcode::subnormals_met) {
    values_[inst.results[0].index] = make("AND32ri", word, {flags(place)}, kMetSubnormals);
    return;
  }
  Reg kept = make("AND32ri", word, {flags(place)}, static_cast<int32_t>(~kMetSubnormals));
  at(place, start("MOV32mr", {})).addReg(kept);
  at(place, start("VLDMXCSR", {}));
}

}  // namespace tercel::codegen
