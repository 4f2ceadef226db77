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
  const int width = kernel::bitWidth(inst.type.scalar);
  if (!inst.type.isVector() || width < 32 || registerBits(inst.type) > 512)
    return refuse(), Reg();
  const llvm::APInt by(static_cast<unsigned>(width), divisor);
  if (by.sgt(1)) return divideVector(inst, by, is_signed);
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

Selector::Reg Selector::divideVector(const Inst& inst, const llvm::APInt& divisor,
                                     bool is_signed) {
  const Type type = inst.type;
  Reg x = operand(inst, 0);
  Reg whole = is_signed ? signedQuotient(type, x, divisor) : unsignedQuotient(type, x, divisor);
  if (inst.op == Opcode::udiv || inst.op == Opcode::sdiv) return whole;
  Reg product = onLanes("VPMULL", type, whole, constant(type, divisor.getZExtValue()));
  return onLanes("VPSUB", type, x, product);
}

Selector::Reg Selector::onLanes(const char* stem, Type type, Reg a, Reg b) {
  return make(cat(stem, integerLetter(type.scalar), widthSuffix(type), "rr"), type, {a, b});
}

Selector::Reg Selector::shiftedLanes(const char* stem, Type type, Reg x, unsigned by) {
  if (by == 0) return x;
  return make(cat(stem, integerLetter(type.scalar), widthSuffix(type), "ri"), type, {x}, by);
}

Selector::Reg Selector::unsignedQuotient(Type type, Reg x, const llvm::APInt& divisor) {
  if (divisor.isPowerOf2()) return shiftedLanes("VPSRL", type, x, divisor.logBase2());
  auto magic = llvm::UnsignedDivisionByConstantInfo::get(divisor);
  Reg factor = constant(type, magic.Magic.getZExtValue());
  Reg quotient = highProduct(type, shiftedLanes("VPSRL", type, x, magic.PreShift), factor, false);
  if (magic.IsAdd) {
    Reg half = shiftedLanes("VPSRL", type, onLanes("VPSUB", type, x, quotient), 1);
    quotient = onLanes("VPADD", type, half, quotient);
  }
  return shiftedLanes("VPSRL", type, quotient, magic.PostShift);
}

Selector::Reg Selector::signedQuotient(Type type, Reg x, const llvm::APInt& divisor) {
  const unsigned sign = divisor.getBitWidth() - 1;
  if (divisor.isPowerOf2()) {  // towards zero
    const unsigned power = divisor.logBase2();
    Reg negative = shiftedLanes("VPSRA", type, x, sign);
    Reg up = shiftedLanes("VPSRL", type, negative, sign + 1 - power);
    return shiftedLanes("VPSRA", type, onLanes("VPADD", type, x, up), power);
  }
  auto magic = llvm::SignedDivisionByConstantInfo::get(divisor);
  Reg factor = constant(type, magic.Magic.getZExtValue());
  Reg quotient = highProduct(type, x, factor, true);
  if (magic.Magic.isNegative()) quotient = onLanes("VPADD", type, quotient, x);
  quotient = shiftedLanes("VPSRA", type, quotient, magic.ShiftAmount);
  return onLanes("VPADD", type, quotient, shiftedLanes("VPSRL", type, quotient, sign));
}

Selector::Reg Selector::highProduct(const Inst& inst) {
  const Type type = inst.type;
  if (type.scalar != Scalar::i32 || !type.isVector() || registerBits(type) > 512)
    return refuse(), Reg();
  return highProduct(type, operand(inst, 0), operand(inst, 1), false);
}

Selector::Reg Selector::highProduct(Type type, Reg a, Reg b, bool is_signed) {
  if (type.scalar == Scalar::i64) return highProductOfLong(type, a, b, is_signed);
  const std::string z = widthSuffix(type), multiply = cat(is_signed ? "VPMULDQ" : "VPMULUDQ", z);
  auto upper = [&](Reg v) { return make(cat("VPSRLQ", z, "ri"), type, {v}, 32); };
  Reg even = upper(make(multiply + "rr", type, {a, b}));
  Reg odd = make(multiply + "rr", type, {upper(a), upper(b)});
  llvm::SmallVector<uint64_t, 16> lanes;  // where the upper halves are wanted
  for (int i = 0; i < registerBits(type) / 32; ++i) lanes.push_back(i % 2 ? ~uint32_t{0} : 0);
  Reg mask = lanesConstant({Scalar::i32, static_cast<uint16_t>(lanes.size())}, lanes);
  return make(cat("VPORD", z, "rr"), type, {even, make(cat("VPANDD", z, "rr"), type, {odd, mask})});
}

// Of the products of halves. A negative factor is 2^64 more without its sign, so that the product's
// upper half has the other factor too much.
Selector::Reg Selector::highProductOfLong(Type type, Reg a, Reg b, bool is_signed) {
  auto upper = [&](Reg v) { return shiftedLanes("VPSRL", type, v, 32); };
  auto add = [&](Reg v, Reg w) { return onLanes("VPADD", type, v, w); };
  auto both = [&](Reg v, Reg w) { return onLanes("VPAND", type, v, w); };
  auto product = [&](Reg v, Reg w) {
    return make(cat("VPMULUDQ", widthSuffix(type), "rr"), type, {v, w});
  };
  Reg a_high = upper(a), b_high = upper(b), low = constant(type, ~uint32_t{0});
  Reg first = add(product(a_high, b), upper(product(a, b)));
  Reg second = add(product(a, b_high), both(first, low));
  Reg high = add(add(product(a_high, b_high), upper(first)), upper(second));
  if (!is_signed) return high;
  auto sign = [&](Reg v) { return shiftedLanes("VPSRA", type, v, 63); };
  high = onLanes("VPSUB", type, high, both(sign(a), b));
  return onLanes("VPSUB", type, high, both(sign(b), a));
}

}  // namespace tercel::codegen
