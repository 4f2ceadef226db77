// Integers made of the bits of floats, as their signs and exponents are, computed in the first lanes
// of vectors: it is far from those to the other registers and back.
#include "compiler/codegen/selector.h"
#include "compiler/codegen/selector_names.h"

namespace tercel::codegen {

using kernel::Opcode;
using kernel::Scalar;

// No register where v does not follow from floats so.
Selector::Reg Selector::inLane(V v) {
  const Inst* inst = kernel_.def(v);
  Lane& known = lanes_[v.index];
  if (!inst || known.is_none || known.block == block_) return known.reg;
  const int width = kernel::bitWidth(inst->type.scalar);
  Reg made;
  if (!inst->type.isVector() && width >= 32)
    made = makeInLane(*inst, {inst->type.scalar, static_cast<uint16_t>(128 / width)});
  lanes_[v.index] = {made, block_, !made.isValid()};
  return made;
}

Selector::Reg Selector::makeInLane(const Inst& inst, Type lanes) {
  uint64_t amount;
  switch (inst.op) {
    case Opcode::bitcast:
      return isWideFloat(typeOf(inst, 0).scalar) ? copy(operand(inst, 0), newReg(lanes)) : Reg();
    case Opcode::shl: case Opcode::lshr: case Opcode::ashr: {
      const bool known = constantBits(inst.operands[1], &amount);
      const Reg a = known ? inLane(inst.operands[0]) : Reg();
      if (!a.isValid()) return {};
      const char* stem = inst.op == Opcode::shl    ? "VPSLL"
                         : inst.op == Opcode::lshr ? "VPSRL"
                                                   : "VPSRA";
      return make(cat(stem, integerLetter(lanes.scalar), "Z128ri"), lanes, {a},
                  static_cast<int64_t>(amount));
    }
    case Opcode::and_: case Opcode::or_: case Opcode::xor_: case Opcode::iadd: case Opcode::isub: {
      Reg a = inLane(inst.operands[0]), b = inLane(inst.operands[1]);
      if (!a.isValid() && !b.isValid()) return {};
      if (!a.isValid()) a = toLane(inst.operands[0], lanes);
      if (!b.isValid()) b = toLane(inst.operands[1], lanes);
      return make(cat(stemOf(inst.op)->vectors, integerLetter(lanes.scalar), "Z128rr"), lanes,
                  {a, b});
    }
    default:
      return {};
  }
}

Selector::Reg Selector::toLane(V v, Type lanes) {
  uint64_t bits;
  if (constantBits(v, &bits)) return constant(lanes, bits);
  return make(lanes.scalar == Scalar::i64 ? "VMOV64toPQIZrr" : "VMOVDI2PDIZrr", lanes, {value(v)});
}

}  // namespace tercel::codegen
