#include "compiler/codegen/flags.h"

#include <llvm/IR/IntrinsicsX86.h>

#include "compiler/codegen/emitter.h"

namespace tercel::codegen {

using kernel::Opcode;

llvm::Value* Emitter::flags(Value* place) {
  ir_.CreateIntrinsic(llvm::Intrinsic::x86_sse_stmxcsr, {}, {place});
  return ir_.CreateLoad(ir_.getInt32Ty(), place);
}

void Emitter::emitState(const Inst& inst) {
  if (inst.op != Opcode::subnormals_met && inst.op != Opcode::subnormals_forget)
    return emitTiles(inst);
  const bool is_x86 = target_.architecture == Architecture::x86_64;
  if (inst.op == Opcode::subnormals_met) {
    value(inst.results[0]) = is_x86 ? ir_.CreateAnd(flags(spareSlot()), kMetSubnormals)
                                    : static_cast<Value*>(ir_.getInt32(0));
    return;
  }
  if (!is_x86) return;
  ir_.CreateStore(ir_.CreateAnd(flags(spareSlot()), ~kMetSubnormals), spareSlot());
  ir_.CreateIntrinsic(llvm::Intrinsic::x86_sse_ldmxcsr, {}, {spareSlot()});
}

}  // namespace tercel::codegen
