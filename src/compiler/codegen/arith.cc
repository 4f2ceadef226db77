#include <llvm/IR/IntrinsicsX86.h>

#include <algorithm>
#include <numeric>

#include "compiler/codegen/by_width.h"
#include "compiler/codegen/emitter.h"

namespace tercel::codegen {

using kernel::Opcode;
using kernel::Predicate;
using kernel::Scalar;
namespace intrinsics = llvm::Intrinsic;

namespace {

// An instruction of AVX-512, of floats and of doubles.
struct Avx512 {
  ByWidth ps, pd;
  intrinsics::ID of(llvm::Type* type) const {
    return (type->getScalarSizeInBits() == 64 ? pd : ps).of(type);
  }
};
constexpr Avx512 kRsqrt14 = {
    {intrinsics::x86_avx512_rsqrt14_ps_128, intrinsics::x86_avx512_rsqrt14_ps_256,
     intrinsics::x86_avx512_rsqrt14_ps_512},
    {intrinsics::x86_avx512_rsqrt14_pd_128, intrinsics::x86_avx512_rsqrt14_pd_256,
     intrinsics::x86_avx512_rsqrt14_pd_512}};
constexpr Avx512 kScalef = {
    {intrinsics::x86_avx512_mask_scalef_ps_128, intrinsics::x86_avx512_mask_scalef_ps_256,
     intrinsics::x86_avx512_mask_scalef_ps_512},
    {intrinsics::x86_avx512_mask_scalef_pd_128, intrinsics::x86_avx512_mask_scalef_pd_256,
     intrinsics::x86_avx512_mask_scalef_pd_512}};
constexpr Avx512 kRange = {
    {intrinsics::x86_avx512_mask_range_ps_128, intrinsics::x86_avx512_mask_range_ps_256,
     intrinsics::x86_avx512_mask_range_ps_512},
    {intrinsics::x86_avx512_mask_range_pd_128, intrinsics::x86_avx512_mask_range_pd_256,
     intrinsics::x86_avx512_mask_range_pd_512}};

}  // namespace

llvm::Value* Emitter::intrinsic(intrinsics::ID id, std::initializer_list<Value*> operands) {
  return ir_.CreateIntrinsic(id, {(*operands.begin())->getType()}, llvm::ArrayRef(operands));
}

llvm::Value* Emitter::emitConstant(const Inst& inst) {
  llvm::Type* t = type(inst.type);
  llvm::APInt value(kernel::bitWidth(inst.type.scalar), static_cast<uint64_t>(inst.imm));
  if (inst.type.scalar == Scalar::f32)
    return llvm::ConstantFP::get(t, llvm::APFloat(llvm::APFloat::IEEEsingle(), value));
  if (inst.type.scalar == Scalar::f64)
    return llvm::ConstantFP::get(t, llvm::APFloat(llvm::APFloat::IEEEdouble(), value));
  return llvm::ConstantInt::get(t, value);
}

llvm::Value* Emitter::emitLaneIds(const Inst& inst) {
  llvm::SmallVector<llvm::Constant*, 64> lanes;
  for (unsigned i = 0; i < inst.type.lanes; ++i)
    lanes.push_back(llvm::ConstantInt::get(scalarType(inst.type.scalar), i));
  return inst.type.isVector() ? llvm::ConstantVector::get(lanes) : lanes[0];
}

llvm::Value* Emitter::emitShuffle(const Inst& inst) {
  Value *a = operand(inst, 0), *b = operand(inst, 1);
  if (!typeOf(inst, 0).isVector()) {
    a = ir_.CreateVectorSplat(1, a);
    b = ir_.CreateVectorSplat(1, b);
  }
  llvm::SmallVector<int, 64> lanes(inst.list.begin(), inst.list.end());
  Value* result = shuffled(a, b, lanes);
  return inst.type.isVector() ? result : ir_.CreateExtractElement(result, uint64_t{0});
}

// What comes out shorter, and is no part as it stands, LLVM would take lane by lane: it is shuffled
// in full, masks as bytes, and its first lanes are taken.
llvm::Value* Emitter::shuffled(Value* a, Value* b, llvm::ArrayRef<int> lanes) {
  const unsigned from = llvm::cast<llvm::FixedVectorType>(a->getType())->getNumElements();
  auto jumps = [](int lane, int next) { return next != lane + 1; };
  const bool is_part = std::ranges::adjacent_find(lanes, jumps) == lanes.end();
  if (lanes.size() >= from || is_part) return ir_.CreateShuffleVector(a, b, lanes);
  llvm::SmallVector<int, 64> all(lanes), first(lanes.size());
  all.resize(from, -1);
  std::iota(first.begin(), first.end(), 0);
  const bool is_mask = a->getType()->getScalarSizeInBits() == 1;
  if (is_mask) {
    llvm::Type* bytes = lanesOf(ir_.getInt8Ty(), static_cast<int>(from));
    a = ir_.CreateSExt(a, bytes);
    b = ir_.CreateSExt(b, bytes);
  }
  Value* result = ir_.CreateShuffleVector(ir_.CreateShuffleVector(a, b, all), first);
  return is_mask ? ir_.CreateICmpSLT(result, bits(result, 0)) : result;
}

void Emitter::checkFloatWidth(const Inst& inst) const {
  if (inst.op < Opcode::fadd || inst.op > Opcode::fcmp) return;
  const kernel::Type of = typeOf(inst, 0);
  TERCEL_CHECK(kernel::bitWidth(of.scalar) >= 32 || kernel::isOfShort(inst.op, of.scalar),
               kernel::opcodeName(inst.op), " of ", kernel::toString(of));
}

bool Emitter::isHalfArithmetic(const Inst& inst) const {
  return inst.op >= Opcode::fadd && inst.op <= Opcode::fcmp && inst.op != Opcode::fneg &&
         inst.op != Opcode::fabs && typeOf(inst, 0).scalar == Scalar::f16;
}

// f16 is an i16 everywhere else.
llvm::Value* Emitter::emitHalf(const Inst& inst) {
  auto half = [&](size_t i) {
    Value* v = operand(inst, i);
    return ir_.CreateBitCast(v, v->getType()->getWithNewType(ir_.getHalfTy()));
  };
  if (inst.op == Opcode::fcmp)
    return ir_.CreateFCmp(comparisonOf(inst), half(0), half(1));
  return ir_.CreateBitCast(emitArithmetic(inst.op, half(0), half(1)), type(inst.type));
}

llvm::Value* Emitter::emitArithmetic(Opcode op, Value* a, Value* b) {
  switch (op) {
    case Opcode::fadd: return ir_.CreateFAdd(a, b);
    case Opcode::fsub: return ir_.CreateFSub(a, b);
    case Opcode::fmul: return ir_.CreateFMul(a, b);
    default: return ir_.CreateFDiv(a, b);
  }
}

llvm::Value* Emitter::emitPure(const Inst& inst) {
  checkFloatWidth(inst);
  if (isHalfArithmetic(inst)) return emitHalf(inst);
  switch (inst.op) {
    case Opcode::constant: return emitConstant(inst);
    case Opcode::splat: return ir_.CreateVectorSplat(inst.type.lanes, operand(inst, 0));
    case Opcode::lane_ids: return emitLaneIds(inst);
    case Opcode::extract:
      if (!typeOf(inst, 0).isVector()) return operand(inst, 0);
      return ir_.CreateExtractElement(operand(inst, 0), static_cast<uint64_t>(inst.imm));
    case Opcode::shuffle: return emitShuffle(inst);
    case Opcode::lookup: case Opcode::lookup2: return emitLookup(inst);
    case Opcode::clz:
      return ir_.CreateIntrinsic(intrinsics::ctlz, {type(inst.type)},
                                 {operand(inst, 0), ir_.getFalse()});
    case Opcode::popcnt: return intrinsic(intrinsics::ctpop, {operand(inst, 0)});
    case Opcode::dot_s16:
      return emitDotHalves(operand(inst, 0), operand(inst, 1), operand(inst, 2));
    case Opcode::dot_u8s8:
      return emitDotBytes(operand(inst, 0), operand(inst, 1), operand(inst, 2));
    case Opcode::dot_bf16:
      return emitDotBFloat16(operand(inst, 0), operand(inst, 1), operand(inst, 2));
    case Opcode::icmp: case Opcode::fcmp: return emitCompare(inst);
    case Opcode::fma: return emitFma(inst);
    case Opcode::fmuladd:
      return intrinsic(intrinsics::fmuladd, {operand(inst, 0), operand(inst, 1), operand(inst, 2)});
    case Opcode::scalb: return emitScalb(operand(inst, 0), operand(inst, 1));
    case Opcode::rsqrt14: return emitRsqrt14(operand(inst, 0));
    case Opcode::any: {
      llvm::Type* lanes = ir_.getIntNTy(typeOf(inst, 0).lanes);
      return ir_.CreateIsNotNull(ir_.CreateBitCast(operand(inst, 0), lanes));
    }
    case Opcode::rarely: return emitRarely(inst);
    case Opcode::fneg: case Opcode::fabs: case Opcode::fsqrt: case Opcode::floor:
    case Opcode::ceil: case Opcode::trunc_int: case Opcode::round_even:
      return emitFloatUnary(inst);
    case Opcode::zext: case Opcode::sext: case Opcode::itrunc: case Opcode::fpext:
    case Opcode::fptrunc: case Opcode::sitofp: case Opcode::uitofp: case Opcode::fptosi:
    case Opcode::fptoui: case Opcode::bitcast:
      return emitConversion(inst);
    case Opcode::select:
      return ir_.CreateSelect(operand(inst, 0), operand(inst, 1), operand(inst, 2));
    default: return emitBinary(inst);
  }
}

llvm::Value* Emitter::emitBinary(const Inst& inst) {
  Value *a = operand(inst, 0), *b = operand(inst, 1);
  switch (inst.op) {
    case Opcode::iadd: return ir_.CreateAdd(a, b);
    case Opcode::isub: return ir_.CreateSub(a, b);
    case Opcode::imul: return ir_.CreateMul(a, b);
    case Opcode::umulh: return emitMulHigh(a, b);
    case Opcode::sdiv: return ir_.CreateSDiv(a, b);
    case Opcode::udiv: return ir_.CreateUDiv(a, b);
    case Opcode::srem: return ir_.CreateSRem(a, b);
    case Opcode::urem: return ir_.CreateURem(a, b);
    case Opcode::and_: return ir_.CreateAnd(a, b);
    case Opcode::or_: return ir_.CreateOr(a, b);
    case Opcode::xor_: return ir_.CreateXor(a, b);
    case Opcode::shl: return ir_.CreateShl(a, b);
    case Opcode::lshr: return ir_.CreateLShr(a, b);
    case Opcode::ashr: return ir_.CreateAShr(a, b);
    case Opcode::smin: return intrinsic(intrinsics::smin, {a, b});
    case Opcode::smax: return intrinsic(intrinsics::smax, {a, b});
    case Opcode::umin: return intrinsic(intrinsics::umin, {a, b});
    case Opcode::umax: return intrinsic(intrinsics::umax, {a, b});
    case Opcode::fadd: case Opcode::fsub: case Opcode::fmul: case Opcode::fdiv:
      return emitArithmetic(inst.op, a, b);
    case Opcode::fminimum: case Opcode::fmaximum: return emitExtremum(inst);
    case Opcode::fmin: return ir_.CreateSelect(ir_.CreateFCmpOLT(a, b), a, b);
    case Opcode::fmax: return ir_.CreateSelect(ir_.CreateFCmpOGT(a, b), a, b);
    default: TERCEL_CHECK(false, "no code for ", kernel::opcodeName(inst.op));
  }
  return nullptr;
}

llvm::Value* Emitter::emitMulHigh(Value* a, Value* b) {
  unsigned width = a->getType()->getScalarSizeInBits();
  if (width == 64 && a->getType()->isVectorTy()) return emitMulHigh64(a, b);
  llvm::Type* narrow = a->getType();
  llvm::Type* wide = narrow->getExtendedType();
  Value* product = ir_.CreateMul(ir_.CreateZExt(a, wide), ir_.CreateZExt(b, wide));
  return ir_.CreateTrunc(ir_.CreateLShr(product, bits(product, width)), narrow);
}

// Four 32 x 32 -> 64 products, as vectors have no wider one.
llvm::Value* Emitter::emitMulHigh64(Value* a, Value* b) {
  llvm::Constant *low = bits(a, 0xffffffffu), *half = bits(a, 32);
  Value *a0 = ir_.CreateAnd(a, low), *a1 = ir_.CreateLShr(a, half);
  Value *b0 = ir_.CreateAnd(b, low), *b1 = ir_.CreateLShr(b, half);
  Value* middle = ir_.CreateAdd(ir_.CreateMul(a1, b0),
                                ir_.CreateLShr(ir_.CreateMul(a0, b0), half));
  Value* cross = ir_.CreateAdd(ir_.CreateMul(a0, b1), ir_.CreateAnd(middle, low));
  Value* high = ir_.CreateAdd(ir_.CreateMul(a1, b1), ir_.CreateLShr(middle, half));
  return ir_.CreateAdd(high, ir_.CreateLShr(cross, half));
}

llvm::Value* Emitter::emitFloatUnary(const Inst& inst) {
  Value* a = operand(inst, 0);
  if (kernel::bitWidth(inst.type.scalar) == 16) {  // an i16 here
    return inst.op == Opcode::fneg ? ir_.CreateXor(a, bits(a, 0x8000))
                                   : ir_.CreateAnd(a, bits(a, 0x7fff));
  }
  switch (inst.op) {
    case Opcode::fneg: return ir_.CreateFNeg(a);
    case Opcode::fabs: return intrinsic(intrinsics::fabs, {a});
    case Opcode::fsqrt: return intrinsic(intrinsics::sqrt, {a});
    case Opcode::floor: return intrinsic(intrinsics::floor, {a});
    case Opcode::ceil: return intrinsic(intrinsics::ceil, {a});
    case Opcode::trunc_int: return intrinsic(intrinsics::trunc, {a});
    default: return intrinsic(intrinsics::roundeven, {a});
  }
}

// All lanes of an instruction whose last operands are a mask and, of 512 bits, how it rounds.
llvm::Value* Emitter::emitAvx512(intrinsics::ID id, std::initializer_list<Value*> operands) {
  llvm::SmallVector<Value*, 6> args(operands);
  auto* t = llvm::cast<llvm::FixedVectorType>(args[0]->getType());
  unsigned lanes = std::max(t->getNumElements(), 8u);
  args.push_back(llvm::Constant::getAllOnesValue(ir_.getIntNTy(lanes)));
  if (t->getPrimitiveSizeInBits() == 512) args.push_back(ir_.getInt32(4));  // as MXCSR says
  return ir_.CreateIntrinsic(id, {}, args);
}

llvm::Value* Emitter::emitExtremum(const Inst& inst) {
  Value *a = operand(inst, 0), *b = operand(inst, 1);
  const bool maximum = inst.op == Opcode::fmaximum;
  if (target_.architecture == Architecture::aarch64)
    return intrinsic(maximum ? intrinsics::maximum : intrinsics::minimum, {a, b});
  Value* picked = nullptr;
  if (intrinsics::ID id = kRange.of(a->getType()); target_.has_avx512 && id) {
    constexpr uint32_t kMinimum = 4, kMaximum = 5;  // with the sign of what is picked
    picked = emitAvx512(id, {a, b, ir_.getInt32(maximum ? kMaximum : kMinimum), a});
  } else {
    // Each way around the second operand is given where both are zeros: these differ in the sign.
    auto ordered = [&](Value* x, Value* y) {
      Value* first = maximum ? ir_.CreateFCmpOGT(x, y) : ir_.CreateFCmpOLT(x, y);
      return ir_.CreateBitCast(ir_.CreateSelect(first, x, y), integersLike(x));
    };
    Value *one = ordered(a, b), *other = ordered(b, a);
    Value* both = maximum ? ir_.CreateAnd(one, other) : ir_.CreateOr(one, other);
    // The other operand where one is NaN: together they are NaN, and so is what has all bits.
    if (maximum && !a->getType()->isVectorTy()) {
      picked = ir_.CreateBitCast(both, a->getType());
    } else {
      Value* nan = ir_.CreateSExt(ir_.CreateFCmpUNO(a, b), both->getType());
      return ir_.CreateBitCast(maximum ? ir_.CreateOr(both, nan) : both, a->getType());
    }
  }
  return ir_.CreateSelect(ir_.CreateFCmpUNO(a, b), ir_.CreateFAdd(a, b), picked);
}

// a 2^exponent: what vscalef does, or two products of which only the second one rounds.
llvm::Value* Emitter::emitScalb(Value* a, Value* exponent) {
  llvm::Type* float_type = a->getType();
  bool wide = float_type->getScalarSizeInBits() == 64;
  if (intrinsics::ID id = kScalef.of(float_type); target_.has_avx512 && id)
    return emitAvx512(id, {a, exponent, a});
  llvm::Type* int_type = integersLike(a);
  // An integer added to 1.5 ulp^-1 is in the sum's low bits.
  llvm::Constant* shifter = llvm::ConstantFP::get(float_type, wide ? 0x1.8p52 : 0x1.8p23);
  int mantissa = wide ? 52 : 23, bias = wide ? 1023 : 127;
  auto asInt = [&](Value* v) { return ir_.CreateBitCast(v, int_type); };
  auto power = [&](Value* k) {
    Value* biased = ir_.CreateAdd(k, bits(k, static_cast<uint64_t>(bias)));
    return ir_.CreateBitCast(ir_.CreateShl(biased, bits(k, static_cast<uint64_t>(mantissa))),
                             float_type);
  };
  Value* k = ir_.CreateSub(asInt(ir_.CreateFAdd(exponent, shifter)), asInt(shifter));
  Value* half = ir_.CreateAShr(k, bits(k, 1));
  return ir_.CreateFMul(ir_.CreateFMul(a, power(half)), power(ir_.CreateSub(k, half)));
}

llvm::Value* Emitter::emitRsqrt14(Value* a) {
  const intrinsics::ID id = kRsqrt14.of(a->getType());
  if (!target_.has_avx512 || !id)
    return ir_.CreateFDiv(llvm::ConstantFP::get(a->getType(), 1), intrinsic(intrinsics::sqrt, {a}));
  const unsigned lanes = llvm::cast<llvm::FixedVectorType>(a->getType())->getNumElements();
  return ir_.CreateIntrinsic(
      id, {}, {a, a, llvm::Constant::getAllOnesValue(ir_.getIntNTy(std::max(lanes, 8u)))});
}

llvm::CmpInst::Predicate Emitter::comparisonOf(const Inst& inst) {
  using P = llvm::CmpInst::Predicate;
  static constexpr P kPredicates[] = {
      P::ICMP_EQ,  P::ICMP_NE,  P::ICMP_SLT, P::ICMP_SLE, P::ICMP_SGT, P::ICMP_SGE,
      P::ICMP_ULT, P::ICMP_ULE, P::ICMP_UGT, P::ICMP_UGE, P::FCMP_OEQ, P::FCMP_ONE,
      P::FCMP_OLT, P::FCMP_OLE, P::FCMP_OGT, P::FCMP_OGE, P::FCMP_ORD, P::FCMP_UNO,
      P::FCMP_UEQ, P::FCMP_UNE, P::FCMP_ULT, P::FCMP_ULE, P::FCMP_UGT, P::FCMP_UGE};
  return kPredicates[inst.imm];
}

llvm::Value* Emitter::emitCompare(const Inst& inst) {
  return ir_.CreateCmp(comparisonOf(inst), operand(inst, 0), operand(inst, 1));
}

}  // namespace tercel::codegen
