// Division of integers by numbers that are known, as products (Granlund and Montgomery).
#include <llvm/Support/DivisionByConstantInfo.h>

#include "compiler/codegen/selector.h"
#include "compiler/codegen/selector_names.h"

namespace tercel::codegen {

using kernel::Opcode;
using kernel::Scalar;

Selector::Reg Selector::divide(const Inst& inst) {
  const bool is_signed = inst.op == Opcode::sdiv || inst.op == Opcode::srem;
  uint64_t divisor;
  if (!constantBits(inst.operands[1], &divisor)) return refuse(), Reg();
  if (inst.type == Type{Scalar::i64, 1} && !is_signed && divisor > 1)
    return divideNumber(inst, divisor);
  if (!inst.type.isVector() || inst.type.scalar != Scalar::i32 || registerBits(inst.type) > 512)
    return refuse(), Reg();
  const auto by = static_cast<int32_t>(divisor);
  if (by > 1) return divideVector(inst, by, is_signed);
  return refuse(), Reg();
}

Selector::Reg Selector::divideNumber(const Inst& inst, uint64_t divisor) {
  const Type type = inst.type;
  Reg x = operand(inst, 0), quotient = x;
  if ((divisor & (divisor - 1)) == 0) {
    if (inst.op == Opcode::udiv)
      return make("SHR64ri", type, {x}, llvm::countr_zero(divisor));
    return make("AND64rr", type, {x, constant(type, divisor - 1)});
  }
  auto magic = llvm::UnsignedDivisionByConstantInfo::get(llvm::APInt(64, divisor));
  if (magic.PreShift) quotient = make("SHR64ri", type, {quotient}, magic.PreShift);
  Reg factor = constant(type, magic.Magic.getZExtValue());
  copy(factor, Reg(names_.physical("RDX")));
  Reg high = newReg(type), low = newReg(type);
  auto product = start("MULX64rr", high).addReg(low, llvm::RegState::Define).addReg(quotient);
  finish(*product);
  quotient = high;
  if (magic.IsAdd) {
    Reg half = make("SHR64ri", type, {make("SUB64rr", type, {x, high})}, 1);
    quotient = make("ADD64rr", type, {half, high});
  }
  if (magic.PostShift) quotient = make("SHR64ri", type, {quotient}, magic.PostShift);
  if (inst.op == Opcode::udiv) return quotient;
  Reg whole = make("IMUL64rr", type, {quotient, constant(type, divisor)});
  return make("SUB64rr", type, {x, whole});
}

// Of lanes of 32 bits.
Selector::Reg Selector::divideVector(const Inst& inst, int32_t divisor, bool is_signed) {
  const Type type = inst.type;
  Reg x = operand(inst, 0);
  Reg whole = is_signed ? signedQuotient(type, x, divisor) : unsignedQuotient(type, x, divisor);
  if (inst.op == Opcode::udiv || inst.op == Opcode::sdiv) return whole;
  const std::string z = widthSuffix(type);
  const auto bits = static_cast<uint32_t>(divisor);
  Reg product = make(cat("VPMULLD", z, "rr"), type, {whole, constant(type, bits)});
  return make(cat("VPSUBD", z, "rr"), type, {x, product});
}

Selector::Reg Selector::unsignedQuotient(Type type, Reg x, int32_t divisor) {
  const std::string z = widthSuffix(type);
  auto shifted = [&](Reg v, int by) {
    return by ? make(cat("VPSRLD", z, "ri"), type, {v}, by) : v;
  };
  const auto number = static_cast<uint32_t>(divisor);
  if ((number & (number - 1)) == 0) return shifted(x, llvm::countr_zero(number));
  auto magic = llvm::UnsignedDivisionByConstantInfo::get(llvm::APInt(32, number));
  Reg factor = constant(type, magic.Magic.getZExtValue());
  Reg quotient = highProduct(type, shifted(x, static_cast<int>(magic.PreShift)), factor, false);
  if (magic.IsAdd) {
    Reg half = shifted(make(cat("VPSUBD", z, "rr"), type, {x, quotient}), 1);
    quotient = make(cat("VPADDD", z, "rr"), type, {half, quotient});
  }
  return shifted(quotient, static_cast<int>(magic.PostShift));
}

Selector::Reg Selector::signedQuotient(Type type, Reg x, int32_t divisor) {
  const std::string z = widthSuffix(type);
  auto magic = llvm::SignedDivisionByConstantInfo::get(
      llvm::APInt(32, static_cast<uint32_t>(divisor)));
  Reg factor = constant(type, magic.Magic.getZExtValue());
  Reg quotient = highProduct(type, x, factor, true);
  if (magic.Magic.isNegative()) quotient = make(cat("VPADDD", z, "rr"), type, {quotient, x});
  if (magic.ShiftAmount)
    quotient = make(cat("VPSRAD", z, "ri"), type, {quotient},
                    static_cast<int64_t>(magic.ShiftAmount));
  Reg negative = make(cat("VPSRLD", z, "ri"), type, {quotient}, 31);
  return make(cat("VPADDD", z, "rr"), type, {quotient, negative});
}

Selector::Reg Selector::highProduct(const Inst& inst) {
  const Type type = inst.type;
  if (type.scalar != Scalar::i32 || !type.isVector() || registerBits(type) > 512)
    return refuse(), Reg();
  return highProduct(type, operand(inst, 0), operand(inst, 1), false);
}

Selector::Reg Selector::highProduct(Type type, Reg a, Reg b, bool is_signed) {
  const std::string z = widthSuffix(type), multiply = cat(is_signed ? "VPMULDQ" : "VPMULUDQ", z);
  auto upper = [&](Reg v) { return make(cat("VPSRLQ", z, "ri"), type, {v}, 32); };
  Reg even = upper(make(multiply + "rr", type, {a, b}));
  Reg odd = make(multiply + "rr", type, {upper(a), upper(b)});
  llvm::SmallVector<uint64_t, 16> lanes;  // where the upper halves are wanted
  for (int i = 0; i < registerBits(type) / 32; ++i) lanes.push_back(i % 2 ? ~uint32_t{0} : 0);
  Reg mask = lanesConstant({Scalar::i32, static_cast<uint16_t>(lanes.size())}, lanes);
  return make(cat("VPORD", z, "rr"), type, {even, make(cat("VPANDD", z, "rr"), type, {odd, mask})});
}

}  // namespace tercel::codegen
