#include <algorithm>
#include <bit>
#include <cmath>

#include <llvm/CodeGen/MachineRegisterInfo.h>

#include "compiler/codegen/selector.h"
#include "compiler/codegen/selector_names.h"

namespace tercel::codegen {

using kernel::Opcode;
using kernel::Scalar;

Selector::Reg Selector::convert(const Inst& inst) {
  const Type from = typeOf(inst, 0), type = inst.type;
  if (!type.isVector()) return convertScalar(inst, from);
  if (registerBits(from) > 512 || registerBits(type) > 512) return refuse(), Reg();
  if (inst.op == Opcode::zext || inst.op == Opcode::sext || inst.op == Opcode::itrunc)
    return convertInteger(inst, from);
  const std::string z = widthSuffix(std::max(registerBits(from), registerBits(type)));
  // Of half a register only what the type has is converted: less has no instruction of its own.
  auto plain = [&](const char* name) {
    const int least = std::min(kernel::bitWidth(from.scalar), kernel::bitWidth(type.scalar));
    if (type.lanes * least < 64) return refuse(), Reg();
    return make(cat(name, z, "rr"), type, {operand(inst, 0)});
  };
  const bool is_signed = inst.op == Opcode::sitofp || inst.op == Opcode::fptosi;
  const Scalar real = kernel::isFloat(from.scalar) ? from.scalar : type.scalar;
  const Scalar whole = kernel::isFloat(from.scalar) ? type.scalar : from.scalar;
  const char real_letter = real == Scalar::f64 ? 'D' : 'S';
  switch (inst.op) {
    case Opcode::fpext:
      if (from.scalar == Scalar::f32) return plain("VCVTPS2PD");
      if (type.scalar != Scalar::f32) break;
      if (from.scalar == Scalar::f16) return plain("VCVTPH2PS");
      if (type.lanes * 16 < 128) break;
      if (Reg words = words_[inst.operands[0].index]; words.isValid())
        return make(cat("VPANDD", widthSuffix(type), "rr"), type,
                    {words, constant(type.with(Scalar::i32), 0xffff0000)});
      return make(cat("VPSLLD", widthSuffix(type), "ri"), type,
                  {make(cat("VPMOVZXWD", widthSuffix(type), "rr"), type, {operand(inst, 0)})}, 16);
    case Opcode::fptrunc:
      if (type.scalar == Scalar::f32 && type.lanes >= 4) return plain("VCVTPD2PS");
      if (from.scalar != Scalar::f32 || type.lanes < 8) break;
      if (type.scalar == Scalar::bf16) return toBFloat16(inst);
      return make(cat("VCVTPS2PH", widthSuffix(from), "rr"), type, {operand(inst, 0)}, 4);
    case Opcode::sitofp: case Opcode::uitofp: case Opcode::fptosi: case Opcode::fptoui: {
      if (!isWideFloat(real) || type.lanes < 4) break;
      if (kernel::bitWidth(whole) < 32) return convertNarrow(inst, from);
      const std::string integers = cat(is_signed ? "" : "U", kernel::bitWidth(whole) == 64 ? "QQ"
                                                                                           : "DQ");
      const bool to_real = kernel::isFloat(type.scalar);
      return plain((to_real ? cat("VCVT", integers, "2P", real_letter)
                            : cat("VCVTTP", real_letter, "2", integers)).c_str());
    }
    default: break;
  }
  return refuse(), Reg();
}

Selector::Reg Selector::fromMask(Reg mask, Type type) {
  const int width = kernel::bitWidth(type.scalar);
  Reg ones = constant(type, 1);
  const char* move = width == 8 ? "VMOVDQU8" : width == 16 ? "VMOVDQU16"
                     : width == 32 ? "VMOVDQU32" : "VMOVDQU64";
  return make(cat(move, widthSuffix(type), "rrkz"), type, {mask, ones});
}

Selector::Reg Selector::toMask(Reg v, Type from) {
  // Of lanes that the type does not have nothing is known.
  const bool is_short = kernel::bitWidth(from.scalar) * from.lanes < 128;
  const llvm::SmallVector<uint64_t, 16> lanes(from.lanes, 1);
  Reg ones = is_short ? lanesConstant(from, lanes) : constant(from, 1);
  Reg mask = make(cat("VPTESTM", integerLetter(from.scalar), widthSuffix(from), "rr"),
                  from.with(Scalar::i1), {v, ones});
  return mask;
}

// Bytes and words to floats and back, as integers of 32 bits between.
Selector::Reg Selector::convertNarrow(const Inst& inst, Type from) {
  const Type type = inst.type, words = type.with(Scalar::i32);
  const bool to_real = kernel::isFloat(type.scalar);
  const Scalar narrow = to_real ? from.scalar : type.scalar;
  const Scalar real = to_real ? type.scalar : from.scalar;
  if (narrow == Scalar::i1 || registerBits(words) > 512 || type.lanes < 4)
    return refuse(), Reg();
  const std::string z = widthSuffix(words);
  const std::string wide_z = widthSuffix(words.with(real));
  const char letter = integerLetter(narrow), real_letter = real == Scalar::f64 ? 'D' : 'S';
  if (to_real) {
    const char* extend = inst.op == Opcode::uitofp ? "VPMOVZX" : "VPMOVSX";
    Reg whole = make(cat(extend, letter, "D", z, "rr"), words, {operand(inst, 0)});
    return make(cat("VCVTDQ2P", real_letter, wide_z, "rr"), type, {whole});
  }
  Reg whole = make(cat("VCVTTP", real_letter, "2DQ", wide_z, "rr"), words, {operand(inst, 0)});
  return make(cat("VPMOVD", letter, z, "rr"), type, {whole});
}

Selector::Reg Selector::convertInteger(const Inst& inst, Type from) {
  const Type type = inst.type;
  const int in = kernel::bitWidth(from.scalar), out = kernel::bitWidth(type.scalar);
  if (type.scalar == Scalar::i1) {
    return toMask(operand(inst, 0), from);
  }
  if (from.scalar == Scalar::i1) {
    if (inst.op == Opcode::zext) return fromMask(operand(inst, 0), type);
    return make(cat("VPMOVM2", integerLetter(type.scalar), widthSuffix(type), "rr"), type,
                {operand(inst, 0)});
  }
  const char narrow = integerLetter(in < out ? from.scalar : type.scalar);
  const char wide = integerLetter(in < out ? type.scalar : from.scalar);
  if (type.lanes * std::max(in, out) < 128) return refuse(), Reg();
  const std::string z = widthSuffix(std::max(registerBits(from), registerBits(type)));
  if (inst.op == Opcode::itrunc)
    return make(cat("VPMOV", wide, narrow, z, "rr"), type, {operand(inst, 0)});
  return make(cat("VPMOV", inst.op == Opcode::zext ? "ZX" : "SX", narrow, wide, z, "rr"), type,
              {operand(inst, 0)});
}

// As floatToBFloat16 in convert.cc. The upper half of each word is the result: 0x7fff is added to it,
// or one more where that half is odd.
Selector::Reg Selector::toBFloat16(const Inst& inst) {
  const Type words = typeOf(inst, 0).with(Scalar::i32);
  const std::string z = widthSuffix(words);
  Reg result = roundedToBFloat16(inst, operand(inst, 0), words);
  words_[inst.results[0].index] = result;
  Reg high = make(cat("VPSRLD", z, "ri"), words, {result}, 16);
  return make(cat("VPMOVDW", z, "rr"), inst.type, {high});
}

Selector::Reg Selector::toOneBFloat16(const Inst& inst) {
  const Type words{Scalar::i32, 4}, word{Scalar::i32, 1};
  Reg result = roundedToBFloat16(inst, copy(operand(inst, 0), newReg(words)), words);
  Reg high = make("SHR32ri", word, {make("VMOVPDI2DIZrr", word, {result})}, 16);
  return copy(high, newReg(inst.type), names_.part("sub_16bit"));
}

// Whether the lower half of an f32 that is no number is 0, so that rounding it leaves it none:
// arithmetic hands on the bits of an operand, or makes 0x7fc00000.
bool Selector::hasShortNaNs(V v, int depth) const {
  const Inst* def = kernel_.def(v);
  if (!def || depth == 0) return false;
  auto all = [&](size_t first) {
    return std::ranges::all_of(def->operands.begin() + first, def->operands.end(),
                               [&](V from) { return hasShortNaNs(from, depth - 1); });
  };
  switch (def->op) {
    case Opcode::constant: return !std::isnan(std::bit_cast<float>(static_cast<uint32_t>(def->imm)));
    case Opcode::fpext: return typeOf(*def, 0).scalar == Scalar::bf16;
    case Opcode::splat: case Opcode::fneg: case Opcode::fabs: case Opcode::fsqrt:
    case Opcode::fmax: case Opcode::fmin: case Opcode::fmaximum: case Opcode::fminimum:
    case Opcode::fadd: case Opcode::fsub: case Opcode::fmul: case Opcode::fdiv: case Opcode::fma:
      return all(0);
    case Opcode::select: return all(1);
    default: return false;
  }
}

// In the upper halves of words.
Selector::Reg Selector::roundedToBFloat16(const Inst& inst, Reg v, Type words) {
  const Type mask = words.with(Scalar::i1);
  const std::string z = widthSuffix(words);
  auto constantWord = [&](uint64_t bits) { return constant(words, bits); };
  Reg odd = make(cat("VPTESTMD", z, "rr"), mask, {v, constantWord(0x10000)});
  Reg even = make(cat("VPADDD", z, "rr"), words, {v, constantWord(0x7fff)});
  Reg rounded = make(cat("VPADDD", z, "rrk"), words, {even, odd, v, constantWord(0x8000)});
  if (hasShortNaNs(inst.operands[0])) return rounded;
  Reg nan = make(cat("VCMPPS", z, "rri"), mask, {v, v}, 3);
  return make(cat("VPORD", z, "rrk"), words, {rounded, nan, v, constantWord(0x400000)});
}

Selector::Reg Selector::convertScalar(const Inst& inst, Type from) {
  const Type type = inst.type;
  const int in = kernel::bitWidth(from.scalar), out = kernel::bitWidth(type.scalar);
  auto widenTo32 = [&](bool is_signed) {
    Reg v = operand(inst, 0), wide = newReg("GR32");
    if (in == 32) return v;
    finish(*start(cat(is_signed ? "MOVSX32rr" : "MOVZX32rr", std::max(in, 8)), wide).addReg(v));
    return wide;
  };
  auto to64 = [&](Reg v) {
    Reg wide = newReg("GR64"), whole = copy(v, newReg("GR32"));
    Reg zeroed = make("MOV32rr", {Scalar::i32, 1}, {whole});
    start("SUBREG_TO_REG", wide).addImm(0).addReg(zeroed).addImm(names_.part("sub_32bit"));
    return wide;
  };
  switch (inst.op) {
    case Opcode::zext:
      if (out < 32) break;
      return out == 64 ? to64(widenTo32(false)) : widenTo32(false);
    case Opcode::sext:
      if (out < 32 || in == 1) break;
      return out == 64 ? make("MOVSX64rr32", type, {widenTo32(true)}) : widenTo32(true);
    case Opcode::itrunc: {
      Reg v = operand(inst, 0);
      if (in < 32) break;
      if (out == 1) {
        Reg low = copy(v, newReg("GR8"), names_.part("sub_8bit"));
        return make("AND8ri", type, {low}, 1);
      }
      const char* part = out == 8 ? "sub_8bit" : out == 16 ? "sub_16bit" : "sub_32bit";
      return copy(v, newReg(type), names_.part(part));
    }
    case Opcode::fptrunc:
      if (from.scalar == Scalar::f32 && type.scalar == Scalar::bf16) return toOneBFloat16(inst);
      if (from.scalar != Scalar::f64 || type.scalar != Scalar::f32) break;
      return make("VCVTSD2SSZrr", type, {undefined(type), operand(inst, 0)});
    case Opcode::fpext:
      if (from.scalar == Scalar::bf16 && type.scalar == Scalar::f32)
        return make("VMOVDI2SSZrr", type,
                    {make("SHL32ri", {Scalar::i32, 1}, {widenTo32(false)}, 16)});
      if (from.scalar != Scalar::f32 || type.scalar != Scalar::f64) break;
      return make("VCVTSS2SDZrr", type, {undefined(type), operand(inst, 0)});
    case Opcode::sitofp:
      if (!isWideFloat(type.scalar) || in < 32) break;
      return make(cat("VCVTSI", in == 64 ? "642" : "2", type.scalar == Scalar::f64 ? "SD" : "SS",
                      "Zrr"),
                  type, {undefined(type), operand(inst, 0)});
    default: break;
  }
  return refuse(), Reg();
}

Selector::Reg Selector::bitcast(const Inst& inst) {
  const Type from = typeOf(inst, 0), type = inst.type;
  if (kernel::bitWidth(from.scalar) * from.lanes != kernel::bitWidth(type.scalar) * type.lanes ||
      from.isVector() != type.isVector() || from.scalar == Scalar::i1 ||
      type.scalar == Scalar::i1 || registerBits(type) > 512)
    return refuse(), Reg();
  if (type.isVector() || isWideFloat(from.scalar) == isWideFloat(type.scalar))
    return operand(inst, 0);
  if (isWideFloat(type.scalar))
    if (Reg lane = inLane(inst.operands[0]); lane.isValid()) return copy(lane, newReg(type));
  Reg v = operand(inst, 0);
  const bool wide = kernel::bitWidth(type.scalar) == 64;
  if (isWideFloat(type.scalar))
    return make(wide ? "VMOV64toSDZrr" : "VMOVDI2SSZrr", type, {v});
  return make(wide ? "VMOVSDto64Zrr" : "VMOVSS2DIZrr", type, {v});
}

}  // namespace tercel::codegen
