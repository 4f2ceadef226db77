#include <llvm/CodeGen/MachineFrameInfo.h>
#include <llvm/CodeGen/MachineRegisterInfo.h>
#include <llvm/IR/Function.h>

#include "compiler/codegen/selector.h"
#include "compiler/codegen/selector_names.h"

namespace tercel::codegen {

using kernel::Opcode;
using kernel::Predicate;
using kernel::Scalar;

namespace {

constexpr Stem kStems[] = {
    {Opcode::iadd, "VPADD", "ADD", true},    {Opcode::isub, "VPSUB", "SUB", false},
    {Opcode::imul, "VPMULL", "IMUL", true},  {Opcode::and_, "VPAND", "AND", true},
    {Opcode::or_, "VPOR", "OR", true},       {Opcode::xor_, "VPXOR", "XOR", true},
    {Opcode::smin, "VPMINS", nullptr, true}, {Opcode::smax, "VPMAXS", nullptr, true},
    {Opcode::umin, "VPMINU", nullptr, true}, {Opcode::umax, "VPMAXU", nullptr, true},
    {Opcode::fadd, "VADD", nullptr, true},   {Opcode::fsub, "VSUB", nullptr, false},
    {Opcode::fmul, "VMUL", nullptr, true},   {Opcode::fdiv, "VDIV", nullptr, false},
    {Opcode::fmin, "VMIN", nullptr, false},  {Opcode::fmax, "VMAX", nullptr, false},
    {Opcode::scalb, "VSCALEF", nullptr, false},
};

bool isBits(Opcode op) { return op == Opcode::and_ || op == Opcode::or_ || op == Opcode::xor_; }

unsigned bitOf(Opcode op, unsigned a, unsigned b) {
  return op == Opcode::and_ ? a & b : op == Opcode::or_ ? a | b : a ^ b;
}

}  // namespace

const Stem* stemOf(Opcode op) {
  for (const Stem& stem : kStems)
    if (stem.op == op) return &stem;
  return nullptr;
}

Selector::Reg Selector::value(V v) {
  Reg& known = values_[v.index];
  uint64_t bits;
  if (!known.isValid() && constantBits(v, &bits)) known = constant(kernel_.type(v), bits);
  if (!known.isValid()) {
    // Compared where the flags are wanted; as a value here.
    const Inst* inst = kernel_.def(v);
    if (inst && scaleOf(*inst)) return known = scaledSum(*inst, 0);
    if (!inst || (inst->op != Opcode::icmp && inst->op != Opcode::any))
      return refuse(), newReg("GR8");
    Condition condition = flagsOf(v);
    Reg set = newReg("GR8");
    start("SETCCr", set).addImm(static_cast<int>(condition));
    return set;
  }
  return known;
}

Selector::Reg Selector::pure(const Inst& inst) {
  if (Reg known = knownVector(inst); known.isValid()) return known;
  switch (inst.op) {
    case Opcode::splat: return splat(inst);
    case Opcode::lane_ids: return inst.type.isVector() ? Reg() : constant(inst.type, 0);
    case Opcode::extract: return extract(inst);
    case Opcode::shuffle: return shuffle(inst);
    case Opcode::lookup: case Opcode::lookup2: return lookUp(inst);
    case Opcode::clz:
      if (kernel::bitWidth(inst.type.scalar) < 32) break;
      if (inst.type.isVector())
        return make(cat("VPLZCNT", integerLetter(inst.type.scalar), widthSuffix(inst.type), "rr"),
                    inst.type, {operand(inst, 0)});
      return make(cat("LZCNT", kernel::bitWidth(inst.type.scalar), "rr"), inst.type,
                  {operand(inst, 0)});
    case Opcode::dot_s16: case Opcode::dot_u8s8: case Opcode::dot_bf16: return dot(inst);
    case Opcode::icmp: case Opcode::fcmp: return compare(inst);
    case Opcode::any: return {};  // where its flags are wanted
    case Opcode::fma: case Opcode::fmuladd: return fma(inst);
    case Opcode::fneg: case Opcode::fabs: return signOp(inst);
    case Opcode::fsqrt: case Opcode::rsqrt14: case Opcode::floor: case Opcode::ceil:
    case Opcode::trunc_int: case Opcode::round_even:
      return rounded(inst);
    case Opcode::fminimum: case Opcode::fmaximum: return extremum(inst);
    case Opcode::zext: case Opcode::sext: case Opcode::itrunc: case Opcode::fpext:
    case Opcode::fptrunc: case Opcode::sitofp: case Opcode::uitofp: case Opcode::fptosi:
    case Opcode::fptoui:
      return convert(inst);
    case Opcode::bitcast: return bitcast(inst);
    case Opcode::select: return select(inst);
    case Opcode::rarely: return rarely(inst);
    case Opcode::shl: case Opcode::lshr: case Opcode::ashr: return shift(inst);
    case Opcode::umulh: return highProduct(inst);
    case Opcode::udiv: case Opcode::urem: case Opcode::sdiv: case Opcode::srem:
      return divide(inst);
    case Opcode::or_:
      if (Reg rotated = rotation(inst); rotated.isValid()) return rotated;
      return binary(inst);
    default: return binary(inst);
  }
  return refuse(), Reg();
}

Selector::Reg Selector::dot(const Inst& inst) {
  const bool is_float = inst.op == Opcode::dot_bf16;
  const bool has_it = is_float ? target_.has_bf16_dot : target_.byte_dot_bytes == 64;
  if (!has_it || !inst.type.isVector() || registerBits(inst.type) > 512) return refuse(), Reg();
  const char* stem = is_float ? "VDPBF16PS" : inst.op == Opcode::dot_s16 ? "VPDPWSSD" : "VPDPBUSD";
  Reg sum = operand(inst, 2), left = operand(inst, 0), right = operand(inst, 1);
  return make(cat(stem, widthSuffix(inst.type), "r"), inst.type, {sum, left, right});
}

Selector::Reg Selector::vectorOp(const std::string& stem, const Inst& inst, bool commutes) {
  V a = inst.operands[0], b = inst.operands[1];
  if (commutes && repeatedOperand(a)) std::swap(a, b);
  if (const Inst* number = repeatedOperand(b)) {
    Reg left = value(a), result = newReg(inst.type);
    Builder built = start(stem + "rmb", result).addReg(left);
    addRepeated(built, *number);
    finish(*built);
    return result;
  }
  Reg left = value(a), right = value(b);
  return make(stem + "rr", inst.type, {left, right});
}

Selector::Reg Selector::binary(const Inst& inst) {
  const Stem* stem = stemOf(inst.op);
  const Type type = inst.type;
  if (!stem) return refuse(), Reg();
  if (kernel::isFloat(type.scalar)) {
    if (!isWideFloat(type.scalar) && !isHalfVector(type)) return refuse(), Reg();
    std::string name = cat(stem->vectors, floatSuffix(type));
    if (type.isVector()) return vectorOp(name + widthSuffix(type), inst, stem->commutes);
    return make(name + "Zrr", type, {operand(inst, 0), operand(inst, 1)});
  }
  if (!type.isVector()) return scalarBinary(inst);
  if (type.scalar == Scalar::i1) {
    if (!isBits(inst.op)) return refuse(), Reg();
    if (Reg compared = compareWithin(inst); compared.isValid()) return compared;
    const char* width = type.lanes <= 16 ? "W" : type.lanes == 32 ? "D" : "Q";
    Reg a = operand(inst, 0), b = operand(inst, 1);
    return make(cat("K", stem->scalars, width, "rr"), type, {a, b});
  }
  if (registerBits(type) > 512) return refuse(), Reg();
  if (inst.op == Opcode::imul && type.scalar == Scalar::i8) return byteProduct(inst);
  if (Reg both = bitsOfThree(inst); both.isValid()) return both;
  char letter = integerLetter(type.scalar);
  if (isBits(inst.op) && kernel::bitWidth(type.scalar) < 32) letter = 'D';
  std::string name = cat(stem->vectors, letter, widthSuffix(type));
  if (letter == 'B' || letter == 'W' || kernel::bitWidth(type.scalar) < 32)
    return make(name + "rr", type, {operand(inst, 0), operand(inst, 1)});
  return vectorOp(name, inst, stem->commutes);
}

// An operation on bits and the one that made its operand, for it alone, by one instruction.
Selector::Reg Selector::bitsOfThree(const Inst& inst) {
  if (!isBits(inst.op)) return {};
  for (size_t i = 0; i < 2; ++i) {
    const Inst* inner = kernel_.def(inst.operands[i]);
    if (!inner || !isBits(inner->op) || uses_[inst.operands[i].index] != 1) continue;
    int64_t table = 0;
    for (unsigned abc = 0; abc < 8; ++abc)
      table |= int64_t{bitOf(inst.op, abc >> 2, bitOf(inner->op, abc >> 1 & 1, abc & 1))} << abc;
    Reg a = operand(inst, 1 - i), b = operand(*inner, 0), c = operand(*inner, 1);
    return make(cat("VPTERNLOGD", widthSuffix(inst.type), "rri"), inst.type, {a, b, c}, table);
  }
  return {};
}

Selector::Reg Selector::scalarBinary(const Inst& inst) {
  const int width = kernel::bitWidth(inst.type.scalar);
  const Stem* stem = stemOf(inst.op);
  if (!stem->scalars) {
    const bool is_signed = inst.op == Opcode::smin || inst.op == Opcode::smax;
    const bool maximum = inst.op == Opcode::smax || inst.op == Opcode::umax;
    if (width < 32) return refuse(), Reg();
    Reg a = operand(inst, 0), b = operand(inst, 1);
    finish(*start(cat("CMP", width, "rr"), {}).addReg(a).addReg(b));
    // a, but b where that compares so.
    Condition swap = maximum ? (is_signed ? Condition::less : Condition::below)
                             : (is_signed ? Condition::greater : Condition::above);
    return make(cat("CMOV", width, "rr"), inst.type, {a, b}, static_cast<int64_t>(swap));
  }
  const bool narrow = width < 32;
  if (narrow && !isBits(inst.op)) return refuse(), Reg();
  if (inst.type.scalar == Scalar::i1) keepMask(inst);
  uint64_t bits;
  const int shown = std::max(width, 8);
  if (!narrow && constantBits(inst.operands[1], &bits) &&
      static_cast<int64_t>(bits) == static_cast<int32_t>(bits)) {
    const Inst* product = kernel_.def(inst.operands[0]);
    if (inst.op == Opcode::iadd && product && scaleOf(*product))
      return scaledSum(*product, static_cast<int64_t>(bits));
    if (scaleOf(inst)) return {};  // where it is wanted
    Reg a = operand(inst, 0);
    if (inst.op == Opcode::imul && (bits & (bits - 1)) == 0)
      return make(cat("SHL", shown, "ri"), inst.type, {a}, llvm::countr_zero(bits));
    std::string name = inst.op == Opcode::imul ? cat("IMUL", shown, shown == 64 ? "rri32" : "rri")
                                               : cat(stem->scalars, shown,
                                                     shown == 64 ? "ri32" : "ri");
    return make(name, inst.type, {a}, static_cast<int32_t>(bits));
  }
  Reg a = operand(inst, 0), b = operand(inst, 1);
  return make(cat(stem->scalars, shown, "rr"), inst.type, {a, b});
}

// 2, 4, 8 of a product x + scale x that is read once: an address, and one with what is added to it.
// Else 0.
int Selector::scaleOf(const Inst& inst) const {
  uint64_t factor;
  if (inst.op != Opcode::imul || inst.type.isVector() || kernel::bitWidth(inst.type.scalar) < 32 ||
      uses_[inst.results[0].index] != 1 || !constantBits(inst.operands[1], &factor))
    return 0;
  return factor == 3 || factor == 5 || factor == 9 ? static_cast<int>(factor) - 1 : 0;
}

Selector::Reg Selector::scaledSum(const Inst& product, int64_t added) {
  const bool wide = kernel::bitWidth(product.type.scalar) == 64;
  Reg x = operand(product, 0), result = newReg(product.type);
  if (!wide) {
    Reg whole = newReg("GR64");
    start("INSERT_SUBREG", whole).addReg(undefined({Scalar::i64, 1})).addReg(x).addImm(
        names_.part("sub_32bit"));
    x = whole;
  }
  Builder sum = start(wide ? "LEA64r" : "LEA64_32r", result);
  sum.addReg(x).addImm(scaleOf(product)).addReg(x).addImm(static_cast<int32_t>(added)).addReg(0);
  finish(*sum);
  return result;
}

Selector::Reg Selector::shift(const Inst& inst) {
  const Type type = inst.type;
  const int width = kernel::bitWidth(type.scalar);
  const char* stems[] = {"SHL", "SHR", "SAR"};
  const char* vectors[] = {"VPSLL", "VPSRL", "VPSRA"};
  const auto which = static_cast<size_t>(inst.op) - static_cast<size_t>(Opcode::shl);
  uint64_t amount;
  const bool known = constantBits(inst.operands[1], &amount);
  if (width < (type.isVector() ? 8 : 32) || registerBits(type) > 512) return refuse(), Reg();
  if (width == 8) return byteShift(inst);
  Reg a = operand(inst, 0);
  if (type.isVector()) {
    std::string name = cat(vectors[which], known ? "" : "V", integerLetter(type.scalar),
                           widthSuffix(type));
    if (known) return make(name + "ri", type, {a}, static_cast<int64_t>(amount));
    return make(name + "rr", type, {a, operand(inst, 1)});
  }
  if (known) return make(cat(stems[which], width, "ri"), type, {a}, static_cast<int64_t>(amount));
  return make(cat(stems[which], "X", width, "rr"), type, {a, operand(inst, 1)});
}

// x << n | x >> width - n: of hashes and random numbers most of the work. Else no register.
Selector::Reg Selector::rotation(const Inst& inst) {
  const Inst *left = kernel_.def(inst.operands[0]), *right = kernel_.def(inst.operands[1]);
  if (!left || !right) return {};
  if (left->op == Opcode::lshr) std::swap(left, right);
  const int width = kernel::bitWidth(inst.type.scalar);
  uint64_t up, down;
  const bool rotates = left->op == Opcode::shl && right->op == Opcode::lshr &&
                       left->operands[0].index == right->operands[0].index &&
                       constantBits(left->operands[1], &up) &&
                       constantBits(right->operands[1], &down) && up > 0 && down > 0 &&
                       up + down == static_cast<uint64_t>(width);
  if (!rotates || width < 32 || registerBits(inst.type) > 512) return {};
  const std::string name = inst.type.isVector()
                               ? cat("VPROL", integerLetter(inst.type.scalar), widthSuffix(inst.type))
                               : cat("ROL", width);
  return make(name + "ri", inst.type, {value(left->operands[0])}, static_cast<int64_t>(up));
}

Selector::Reg Selector::splat(const Inst& inst) {
  const Type type = inst.type;
  const int width = kernel::bitWidth(type.scalar);
  if (registerBits(type) > 512) return refuse(), Reg();
  Reg a = operand(inst, 0);
  if (width == 1) return splatMask(a, type);
  const std::string z = widthSuffix(type);
  if (type.scalar == Scalar::f32) return make(cat("VBROADCASTSS", z, "rr"), type, {a});
  if (type.scalar == Scalar::f64)
    return make(cat(z == "Z128" ? "VMOVDDUP" : "VBROADCASTSD", z, "rr"), type, {a});
  if (width < 32) {
    Reg wide = newReg("GR32");
    finish(*start(width == 16 ? "MOVZX32rr16" : "MOVZX32rr8", wide).addReg(a));
    a = wide;
  }
  return make(cat("VPBROADCAST", integerLetter(type.scalar), "r", z, "rr"), type, {a});
}

Selector::Reg Selector::splatMask(Reg set, Type type) {
  const bool wide = type.lanes == 64;
  const Type bits{Scalar::i32, 1};
  Reg number = newReg("GR32");
  finish(*start("MOVZX32rr8", number).addReg(set));
  Reg ones = make("NEG32r", bits, {number});
  if (wide) return make("KMOVQkr", type, {make("MOVSX64rr32", {Scalar::i64, 1}, {ones})});
  if (type.lanes < 16) ones = make("AND32ri", bits, {ones}, (1 << type.lanes) - 1);
  return make(type.lanes == 32 ? "KMOVDkr" : "KMOVWkr", type, {ones});
}

// A call on a path of its own, by the convention of functions.cc.
Selector::Reg Selector::rarely(const Inst& inst) {
  const Type type = inst.type;
  constexpr size_t kMostArguments = 4;
  auto passes = [&](Type t) {
    if (!t.isVector()) return isWideFloat(t.scalar);
    return (isWideFloat(t.scalar) || t.scalar == Scalar::i32) &&
           registerBits(t) == kernel::bitWidth(t.scalar) * t.lanes && registerBits(t) <= 512;
  };
  for (size_t i = 1; i < inst.operands.size(); ++i)
    if (!passes(typeOf(inst, i))) return refuse(), Reg();
  if (inst.operands.size() - 1 > kMostArguments || !passes(type)) return refuse(), Reg();
  llvm::SmallVector<Reg, 4> arguments;
  for (size_t i = 1; i < inst.operands.size(); ++i) arguments.push_back(operand(inst, i));
  Condition condition = flagsOf(inst.operands[0]);
  Block* before = block_;
  Block* rare = newBlock();
  Block* join = newBlock();
  jumpSeldom(condition, rare, join);
  block_ = rare;
  auto physical = [&](size_t i, Type t) {
    const int bits = registerBits(t);
    return Reg(names_.physical(cat(bits == 512 ? "ZMM" : bits == 256 ? "YMM" : "XMM", i)));
  };
  start("ADJCALLSTACKDOWN64", {}).addImm(0).addImm(0).addImm(0);
  for (size_t i = 0; i < arguments.size(); ++i)
    copy(arguments[i], physical(i, typeOf(inst, i + 1)));
  llvm::Function* callee = functions_[static_cast<size_t>(inst.imm)];
  Builder call = start("CALL64pcrel32", {}).addGlobalAddress(callee);
  call.addRegMask(classes_.getCallPreservedMask(function_, callee->getCallingConv()));
  for (size_t i = 0; i < arguments.size(); ++i)
    call.addReg(physical(i, typeOf(inst, i + 1)), llvm::RegState::Implicit);
  call.addReg(physical(0, type), llvm::RegState::ImplicitDefine);
  start("ADJCALLSTACKUP64", {}).addImm(0).addImm(0);
  Reg called = copy(physical(0, type), newReg(type));
  function_.getFrameInfo().setHasCalls(true);
  function_.getFrameInfo().setAdjustsStack(true);
  jump(join);
  block_ = join;
  Reg result = newReg(type);
  start("PHI", result).addReg(arguments[0]).addMBB(before).addReg(called).addMBB(rare);
  return result;
}

}  // namespace tercel::codegen
