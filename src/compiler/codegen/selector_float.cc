// Floats beyond what a table of instructions says: fused products, extrema, signs, rounding.
#include "compiler/codegen/selector.h"
#include "compiler/codegen/selector_names.h"

namespace tercel::codegen {

using kernel::Opcode;
using kernel::Scalar;

// a * b + c. The sign of a factor or of the addend is the instruction's.
Selector::Reg Selector::fma(const Inst& inst) {
  const Type type = inst.type;
  if (!isWideFloat(type.scalar) || registerBits(type) > 512) return refuse(), Reg();
  auto unsignedOf = [&](V v, bool* negated) {
    const Inst* def = kernel_.def(v);
    if (!def || def->op != Opcode::fneg) return v;
    *negated = !*negated;
    return def->operands[0];
  };
  bool negates_product = false, negates_sum = false;
  V a = unsignedOf(inst.operands[0], &negates_product);
  V b = unsignedOf(inst.operands[1], &negates_product);
  V c = unsignedOf(inst.operands[2], &negates_sum);
  std::string stem = cat(negates_product ? "VFNM" : "VFM", negates_sum ? "SUB" : "ADD");
  const std::string suffix = cat(floatSuffix(type), type.isVector() ? widthSuffix(type) : "Z");
  const char* order = "213";
  if (type.isVector()) {
    if (repeatedOperand(a)) std::swap(a, b);
    const bool factor = repeatedOperand(b) && !repeatedOperand(c);
    if (factor) std::swap(b, c), order = "132";  // a * memory + register
    if (const Inst* number = repeatedOperand(c)) {
      Reg first = value(a), second = value(b), result = newReg(type);
      Builder built = start(cat(stem, order, suffix, "mb"), result).addReg(first).addReg(second);
      addRepeated(built, *number);
      finish(*built);
      return result;
    }
  }
  Reg first = value(a), second = value(b), third = value(c);
  return make(cat(stem, order, suffix, "r"), type, {first, second, third});
}

// minimum and maximum: NaN where one is, zeros by their signs. Scalars are vectors of four here.
Selector::Reg Selector::extremum(const Inst& inst) {
  if (!isWideFloat(inst.type.scalar) || registerBits(inst.type) > 512) return refuse(), Reg();
  Type type = inst.type;
  if (!type.isVector()) type.lanes = static_cast<uint16_t>(128 / kernel::bitWidth(type.scalar));
  const bool maximum = inst.op == Opcode::fmaximum;
  const std::string suffix = cat(floatSuffix(type), widthSuffix(type));
  Reg a = operand(inst, 0), b = operand(inst, 1);
  constexpr int64_t kMinimum = 4, kMaximum = 5, kUnordered = 3;
  Reg picked = make(cat("VRANGE", suffix, "rri"), type, {a, b}, maximum ? kMaximum : kMinimum);
  Reg nan = make(cat("VCMP", suffix, "rri"), type.with(Scalar::i1), {a, b}, kUnordered);
  return make(cat("VADD", suffix, "rrk"), inst.type, {picked, nan, a, b});
}

Selector::Reg Selector::signOp(const Inst& inst) {
  Type type = inst.type;
  const int width = kernel::bitWidth(type.scalar);
  if ((width < 32 && !type.isVector()) || registerBits(type) > 512) return refuse(), Reg();
  if (!type.isVector()) type.lanes = static_cast<uint16_t>(128 / width);
  const uint64_t sign = uint64_t{1} << (width - 1);
  const bool negate = inst.op == Opcode::fneg;
  Type bits = type.with(width == 64 ? Scalar::i64 : width == 32 ? Scalar::i32 : Scalar::i16);
  Reg mask = constant(bits, negate ? sign : sign - 1);
  return make(cat(negate ? "VPXOR" : "VPAND", width == 64 ? 'Q' : 'D', widthSuffix(type), "rr"),
              inst.type, {operand(inst, 0), mask});
}

Selector::Reg Selector::rounded(const Inst& inst) {
  Type type = inst.type;
  if (!isWideFloat(type.scalar) || registerBits(type) > 512) return refuse(), Reg();
  if (!type.isVector()) type.lanes = static_cast<uint16_t>(128 / kernel::bitWidth(type.scalar));
  const std::string suffix = cat(floatSuffix(type), widthSuffix(type));
  Reg a = operand(inst, 0);
  if (inst.op == Opcode::rsqrt14 && !inst.type.isVector()) return refuse(), Reg();
  if (inst.op == Opcode::rsqrt14) return make(cat("VRSQRT14", suffix, "r"), type, {a});
  if (inst.op == Opcode::fsqrt) {
    if (inst.type.isVector()) return make(cat("VSQRT", suffix, "r"), type, {a});
    return make(cat("VSQRT", floatSuffix(inst.type), "Zr"), inst.type, {undefined(inst.type), a});
  }
  const int64_t mode = inst.op == Opcode::floor ? 9 : inst.op == Opcode::ceil ? 10
                       : inst.op == Opcode::trunc_int ? 11 : 8;
  return make(cat("VRNDSCALE", suffix, "rri"), inst.type, {a}, mode);
}

}  // namespace tercel::codegen
