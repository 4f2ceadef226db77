// Comparisons, and what is chosen by them.
#include "compiler/codegen/selector.h"
#include "compiler/codegen/selector_names.h"

namespace tercel::codegen {

using kernel::Opcode;
using kernel::Predicate;
using kernel::Scalar;

namespace {

// What vcmp calls it.
int64_t floatPredicate(int64_t predicate) {
  constexpr int kCodes[] = {0, 12, 1, 2, 14, 13, 7, 3, 8, 4, 9, 10, 6, 5};
  return kCodes[predicate - static_cast<int64_t>(Predicate::oeq)];
}

// What vpcmp calls it, of either sign.
int64_t integerPredicate(Predicate p) {
  switch (p) {
    case Predicate::eq: return 0;
    case Predicate::ne: return 4;
    case Predicate::slt: case Predicate::ult: return 1;
    case Predicate::sle: case Predicate::ule: return 2;
    case Predicate::sge: case Predicate::uge: return 5;
    default: return 6;
  }
}

// Whether one instruction computes it, which has a mask of such lanes.
bool hasLaneMask(const kernel::Inst& inst) {
  const int width = kernel::bitWidth(inst.type.scalar);
  if (!inst.type.isVector() || width < 32 || width * inst.type.lanes < 128) return false;
  switch (inst.op) {
    case Opcode::fadd: case Opcode::fsub: case Opcode::fmul: case Opcode::fdiv:
    case Opcode::scalb: case Opcode::iadd: case Opcode::isub:
      return true;
    default:
      return false;
  }
}

}  // namespace

Selector::Reg Selector::compareVectors(const Inst& inst, Type type) {
  if (registerBits(type) > 512) return refuse(), Reg();
  Reg a = operand(inst, 0), b = operand(inst, 1);
  Type mask = type.with(Scalar::i1);
  if (inst.op == Opcode::fcmp) {
    if (!isWideFloat(type.scalar) && !isHalfVector(type)) return refuse(), Reg();
    return make(cat("VCMP", floatSuffix(type), widthSuffix(type), "rri"), mask, {a, b},
                floatPredicate(inst.imm));
  }
  const auto predicate = static_cast<Predicate>(inst.imm);
  const bool is_unsigned = predicate >= Predicate::ult && predicate <= Predicate::uge;
  return make(cat("VPCMP", is_unsigned ? "U" : "", integerLetter(type.scalar), widthSuffix(type),
                  "rri"),
              mask, {a, b}, integerPredicate(predicate));
}

Selector::Reg Selector::compareMasks(const Inst& inst) {
  const auto predicate = static_cast<Predicate>(inst.imm);
  const int lanes = inst.type.lanes;
  const bool differs = predicate == Predicate::ne;
  if (!inst.type.isVector() || (!differs && predicate != Predicate::eq)) return refuse(), Reg();
  const char* width = lanes <= 16 ? "W" : lanes == 32 ? "D" : "Q";
  Reg a = operand(inst, 0), b = operand(inst, 1);
  Reg result = make(cat("KXOR", width, "rr"), inst.type, {a, b});
  return differs ? result
                 : make(cat("KXOR", width, "rr"), inst.type, {result, constant(inst.type, 1)});
}

Selector::Reg Selector::compare(const Inst& inst) {
  Type type = typeOf(inst, 0);
  if (type.scalar == Scalar::i1) return compareMasks(inst);
  if (type.isVector()) {
    // Lanes that the type does not have must not be set.
    Reg mask = compareVectors(inst, type);
    if (refused_ || kernel::bitWidth(type.scalar) * type.lanes >= 128) return mask;
    return make("KANDWrr", inst.type, {mask, constant(inst.type, 1)});
  }
  if (inst.op == Opcode::icmp) {
    if (kernel::bitWidth(type.scalar) < 32) refuse();
    return {};  // where its flags are wanted
  }
  type.lanes = static_cast<uint16_t>(128 / kernel::bitWidth(type.scalar));
  Reg mask = compareVectors(inst, type);
  if (refused_) return {};
  masks_[inst.results[0].index] = mask;
  Reg word = make("KMOVWrk", {Scalar::i32, 1}, {mask});
  Reg low = copy(word, newReg("GR8"), names_.part("sub_8bit"));
  return make("AND8ri", inst.type, {low}, 1);
}

Selector::Reg Selector::select(const Inst& inst) {
  Type type = inst.type;
  const int width = kernel::bitWidth(type.scalar);
  if (registerBits(type) > 512) return refuse(), Reg();
  const bool many = typeOf(inst, 0).isVector();
  if (!type.isVector() && !kernel::isFloat(type.scalar)) {
    Reg a = operand(inst, 1), b = operand(inst, 2);
    if (width < 32) {
      auto widen = [&](Reg r) {
        Reg wide = newReg("GR32");
        auto inserted = start(width == 16 ? "MOVZX32rr16" : "MOVZX32rr8", wide).addReg(r);
        finish(*inserted);
        return wide;
      };
      a = widen(a), b = widen(b);
    }
    const int shown = std::max(width, 32);
    Condition condition = flagsOf(inst.operands[0]);
    Reg chosen = make(cat("CMOV", shown, "rr"), Type{shown == 64 ? Scalar::i64 : Scalar::i32, 1},
                      {b, a}, static_cast<int64_t>(condition));
    if (width >= 32) return chosen;
    return copy(chosen, newReg(type), names_.part(width == 16 ? "sub_16bit" : "sub_8bit"));
  }
  if (!isWideFloat(type.scalar) && kernel::isFloat(type.scalar) && !type.isVector())
    return refuse(), Reg();
  if (!type.isVector()) type.lanes = static_cast<uint16_t>(128 / width);
  Reg mask;
  if (many) {
    mask = operand(inst, 0);
  } else if (!inst.type.isVector() && masks_[inst.operands[0].index].isValid()) {
    mask = masks_[inst.operands[0].index];
  } else {
    mask = maskOf(value(inst.operands[0]), type.lanes, inst.type.isVector());
  }
  Reg a = operand(inst, 1), b = operand(inst, 2);
  if (type.scalar == Scalar::i1) {
    const char* width_letter = type.lanes <= 16 ? "W" : type.lanes == 32 ? "D" : "Q";
    Reg yes = make(cat("KAND", width_letter, "rr"), type, {mask, a});
    Reg no = make(cat("KANDN", width_letter, "rr"), type, {mask, b});
    return make(cat("KOR", width_letter, "rr"), type, {yes, no});
  }
  if (Reg merged = merge(inst, mask, a, b); merged.isValid()) return merged;
  if (isWideFloat(type.scalar))
    return make(cat("VBLENDM", floatSuffix(type), widthSuffix(type), "rrk"), inst.type,
                {mask, b, a});
  return make(cat("VPBLENDM", integerLetter(type.scalar), widthSuffix(type), "rrk"), inst.type,
              {mask, b, a});
}

// The instruction that made `a`, for this choice alone, leaves b where the mask has no lane.
Selector::Reg Selector::merge(const Inst& inst, Reg mask, Reg a, Reg b) {
  V v = inst.operands[1];
  const Inst* made = kernel_.def(v);
  if (made && made->op == Opcode::bitcast && uses_[v.index] == 1 &&
      typeOf(*made, 0).lanes == inst.type.lanes)
    v = made->operands[0], made = kernel_.def(v);
  if (!made || uses_[v.index] != 1) return Reg();
  if (made->op == Opcode::fma && inst.type.isVector()) return mergeSum(inst, mask, a, b);
  if (!hasLaneMask(*made)) return Reg();
  llvm::MachineInstr* old = regs_.getVRegDef(a);
  if (!old || old->getParent() != block_) return Reg();
  return underMask(old, inst.type, {b, mask});
}

// What `old` made, by the instruction of it that has a mask, whose first operands these are.
Selector::Reg Selector::underMask(llvm::MachineInstr* old, Type type,
                                  std::initializer_list<Reg> first) {
  Builder masked = start(cat(insts_.getName(old->getOpcode()).str(), "k"), newReg(type));
  for (Reg r : first) masked.addReg(r);
  for (unsigned i = 1; i < old->getNumExplicitOperands(); ++i) masked.add(old->getOperand(i));
  masked.cloneMemRefs(*old);
  old->eraseFromParent();
  finish(*masked);
  return masked->getOperand(0).getReg();
}

// a * b + c where a mask has a lane, else c.
Selector::Reg Selector::mergeSum(const Inst& inst, Reg mask, Reg sum, Reg c) {
  llvm::MachineInstr* old = regs_.getVRegDef(sum);
  if (!old || old->getParent() != block_ || old->getOperand(3).getReg() != c) return Reg();
  std::string name = insts_.getName(old->getOpcode()).str();
  const size_t order = name.find("213");
  if (order == std::string::npos || name.back() != 'r') return Reg();
  name.replace(order, 3, "231");
  Builder masked = start(name + "k", newReg(inst.type)).addReg(c).addReg(mask);
  masked.add(old->getOperand(1)).add(old->getOperand(2));
  old->eraseFromParent();
  finish(*masked);
  return masked->getOperand(0).getReg();
}

// A comparison, for this `and` alone, in the lanes that the other side has.
Selector::Reg Selector::compareWithin(const Inst& inst) {
  if (inst.op != Opcode::and_) return Reg();
  for (size_t side = 0; side < 2; ++side) {
    const V v = inst.operands[side];
    const Inst* made = kernel_.def(v);
    if (!made || (made->op != Opcode::icmp && made->op != Opcode::fcmp) || uses_[v.index] != 1 ||
        kernel::bitWidth(typeOf(*made, 0).scalar) * made->type.lanes < kBlockBits)
      continue;
    Reg mask = operand(inst, 1 - side);
    llvm::MachineInstr* old = regs_.getVRegDef(operand(inst, side));
    if (!old || old->getParent() != block_ ||
        !insts_.getName(old->getOpcode()).ends_with("rri"))
      continue;
    return underMask(old, inst.type, {mask});
  }
  return Reg();
}

// Of an operation on i1 whose masks are known. Other lanes than the first may be anything.
void Selector::keepMask(const Inst& inst) {
  const Reg a = masks_[inst.operands[0].index], b = masks_[inst.operands[1].index];
  const Type type = {Scalar::i1, 16};
  Reg& mask = masks_[inst.results[0].index];
  uint64_t bits;
  if (inst.op != Opcode::xor_ && a.isValid() && b.isValid())
    mask = make(inst.op == Opcode::and_ ? "KANDWrr" : "KORWrr", type, {a, b});
  else if (inst.op == Opcode::xor_ && a.isValid() && constantBits(inst.operands[1], &bits) && bits)
    mask = make("KNOTWrr", type, {a});
}

// All lanes are as one i1, or the first one is.
Selector::Reg Selector::maskOf(Reg set, int lanes, bool in_all) {
  const bool wide = lanes == 64;
  Reg word = newReg(wide ? "GR64" : "GR32"), mask = newReg({Scalar::i1, uint16_t(lanes)});
  finish(*start(wide ? "MOVZX64rr8" : "MOVZX32rr8", word).addReg(set));
  if (in_all)
    word = make(wide ? "NEG64r" : "NEG32r", {wide ? Scalar::i64 : Scalar::i32, 1}, {word});
  finish(*start(wide ? "KMOVQkr" : lanes == 32 ? "KMOVDkr" : "KMOVWkr", mask).addReg(word));
  return mask;
}

}  // namespace tercel::codegen
