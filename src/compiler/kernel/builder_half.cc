// f16 arithmetic, where the machine has it. A sum, product or quotient of f16 numbers that is rounded
// to f32 and then to f16 is the same number as one rounded once: f32 has twice the digits and two
// more (Figueroa, "When is double rounding innocuous?", 1995). Roots take longer than those of f32.
#include <bit>

#include "compiler/kernel/builder.h"
#include "core/dtype.h"

namespace tercel::kernel {

bool Builder::isHalfNumber(uint64_t bits) {
  const auto number = static_cast<uint32_t>(bits);
  const float value = std::bit_cast<float>(number);
  return std::bit_cast<uint32_t>(halfToFloat(floatToHalf(value))) == number;
}

void Builder::noteHalf(V v) { halves_.insert(v.index); }

V Builder::asHalf(V v) {
  const Type half = type(v).with(Scalar::f16);
  if (!machine.has_half_arithmetic || half.lanes < kFewestHalves) return {};
  uint64_t bits;
  if (isConstant(v, &bits))
    return isHalfNumber(bits)
               ? constant(half, floatToHalf(std::bit_cast<float>(static_cast<uint32_t>(bits))))
               : V{};
  const Inst* found = kernel_.def(v);
  if (!found) return {};
  const Inst def = *found;
  switch (def.op) {
    case Opcode::fpext: return type(def.operands[0]) == half ? def.operands[0] : V{};
    case Opcode::splat:
      return isOfPrecision(def.operands[0], Scalar::f16) ? pure(Opcode::fptrunc, half, {v}) : V{};
    case Opcode::fneg: case Opcode::fabs: {
      const V x = asHalf(def.operands[0]);
      return x.valid() ? pure(def.op, half, {x}) : V{};
    }
    case Opcode::select: {
      const V x = asHalf(def.operands[1]), y = asHalf(def.operands[2]);
      return x.valid() && y.valid() ? select(def.operands[0], x, y) : V{};
    }
    default: return {};
  }
}

V Builder::roundedToHalf(V v) {
  const Inst* found = kernel_.def(v);
  if (!machine.has_half_arithmetic || !found || type(v).lanes < kFewestHalves) return {};
  const Inst def = *found;
  switch (def.op) {
    case Opcode::fadd: case Opcode::fsub: case Opcode::fmul: case Opcode::fdiv: {
      const V x = asHalf(def.operands[0]), y = asHalf(def.operands[1]);
      return x.valid() && y.valid() ? pure(def.op, type(x), {x, y}) : V{};
    }
    case Opcode::select: case Opcode::fneg: case Opcode::fabs: return asHalf(v);
    default: return {};
  }
}

}  // namespace tercel::kernel
