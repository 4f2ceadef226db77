#include "compiler/codegen/emitter.h"

namespace tercel::codegen {

using kernel::Opcode;
using kernel::Scalar;
using kernel::Type;

llvm::Value* Emitter::emitConversion(const Inst& inst) {
  Value* a = operand(inst, 0);
  Type from = typeOf(inst, 0);
  llvm::Type* to = type(inst.type);
  auto checkNumber = [](Type t) {
    TERCEL_CHECK(kernel::bitWidth(t.scalar) >= 32, "arithmetic in ", kernel::toString(t));
  };
  switch (inst.op) {
    case Opcode::zext: return ir_.CreateZExt(a, to);
    case Opcode::sext: return ir_.CreateSExt(a, to);
    case Opcode::itrunc: return ir_.CreateTrunc(a, to);
    case Opcode::bitcast: return ir_.CreateBitCast(a, to);
    case Opcode::fpext: return widenFloat(a, from, inst.type.scalar);
    case Opcode::fptrunc: return narrowFloat(a, from, inst.type.scalar);
    case Opcode::sitofp: checkNumber(inst.type); return ir_.CreateSIToFP(a, to);
    case Opcode::uitofp: checkNumber(inst.type); return ir_.CreateUIToFP(a, to);
    case Opcode::fptosi: checkNumber(from); return ir_.CreateFPToSI(a, to);
    case Opcode::fptoui: checkNumber(from); return ir_.CreateFPToUI(a, to);
    default: TERCEL_CHECK(false, "no code for ", kernel::opcodeName(inst.op));
  }
  return nullptr;
}

llvm::Value* Emitter::widenFloat(Value* v, Type from, Scalar to) {
  llvm::Type* f32 = type(from.with(Scalar::f32));
  if (from.scalar == Scalar::f16) v = halfToFloat(v);
  if (from.scalar == Scalar::bf16) {
    Value* wide = ir_.CreateZExt(v, type(from.with(Scalar::i32)));
    v = ir_.CreateBitCast(ir_.CreateShl(wide, bits(wide, 16)), f32);
  }
  return to == Scalar::f64 ? ir_.CreateFPExt(v, type(from.with(Scalar::f64))) : v;
}

llvm::Value* Emitter::narrowFloat(Value* v, Type from, Scalar to) {
  if (to == Scalar::f32) return ir_.CreateFPTrunc(v, type(from.with(Scalar::f32)));
  if (from.scalar == Scalar::f64) v = floatToOddFloat(v);
  return to == Scalar::bf16 ? floatToBFloat16(v) : floatToHalf(v);
}

// Rounding a double through float twice would round twice; a first step that rounds to odd keeps
// the second one exact (Boldo and Melquiond, "When double rounding is odd").
llvm::Value* Emitter::floatToOddFloat(Value* v) {
  llvm::Type* f32 = v->getType()->getWithNewType(ir_.getFloatTy());
  llvm::Type* i32 = v->getType()->getWithNewType(ir_.getInt32Ty());
  Value* nearest = ir_.CreateFPTrunc(v, f32);
  Value* back = ir_.CreateFPExt(nearest, v->getType());
  Value* inexact = ir_.CreateFCmpONE(back, v);
  Value* away = ir_.CreateFCmpOGT(intrinsic(llvm::Intrinsic::fabs, {back}),
                                  intrinsic(llvm::Intrinsic::fabs, {v}));
  Value* word = ir_.CreateBitCast(nearest, i32);
  word = ir_.CreateSub(word, ir_.CreateZExt(away, i32));
  return ir_.CreateBitCast(ir_.CreateOr(word, ir_.CreateZExt(inexact, i32)), f32);
}

// Nearest even, in integers: vcvtneps2bf16 would flush subnormals.
llvm::Value* Emitter::floatToBFloat16(Value* v) {
  llvm::Type* i32 = v->getType()->getWithNewType(ir_.getInt32Ty());
  llvm::Type* i16 = v->getType()->getWithNewType(ir_.getInt16Ty());
  Value* word = ir_.CreateBitCast(v, i32);
  Value* high = ir_.CreateLShr(word, bits(word, 16));
  Value* odd = ir_.CreateAnd(high, bits(word, 1));
  Value* rounded = ir_.CreateAdd(word, ir_.CreateAdd(odd, bits(word, 0x7fff)));
  rounded = ir_.CreateLShr(rounded, bits(word, 16));
  Value* quiet = ir_.CreateOr(high, bits(word, 0x40));
  return ir_.CreateTrunc(ir_.CreateSelect(ir_.CreateFCmpUNO(v, v), quiet, rounded), i16);
}

llvm::Value* Emitter::floatToHalf(Value* v) {
  llvm::Type* half = v->getType()->getWithNewType(ir_.getHalfTy());
  llvm::Type* i16 = v->getType()->getWithNewType(ir_.getInt16Ty());
  if (target_.converts_half) return ir_.CreateBitCast(ir_.CreateFPTrunc(v, half), i16);
  llvm::Type* i32 = v->getType()->getWithNewType(ir_.getInt32Ty());
  Value* word = ir_.CreateBitCast(v, i32);
  Value* sign = ir_.CreateAnd(ir_.CreateLShr(word, bits(word, 16)), bits(word, 0x8000));
  Value* magnitude = ir_.CreateAnd(word, bits(word, 0x7fffffff));
  // Normal: rebias the exponent and round the 13 bits that go.
  Value* odd = ir_.CreateAnd(ir_.CreateLShr(magnitude, bits(word, 13)), bits(word, 1));
  Value* normal = ir_.CreateAdd(magnitude, ir_.CreateSub(odd, bits(word, 0x38000000 - 0xfff)));
  normal = ir_.CreateLShr(normal, bits(word, 13));
  // Subnormal: adding 0.5 aligns the last kept bit with the units.
  Value* aligned = ir_.CreateFAdd(ir_.CreateBitCast(magnitude, v->getType()),
                                  llvm::ConstantFP::get(v->getType(), 0.5));
  Value* tiny = ir_.CreateSub(ir_.CreateBitCast(aligned, i32), bits(word, 0x3f000000));
  // NaN: quiet, the payload's high bits kept.
  Value* nan = ir_.CreateAnd(ir_.CreateLShr(magnitude, bits(word, 13)), bits(word, 0x3ff));
  nan = ir_.CreateOr(nan, bits(word, 0x7e00));
  Value* result =
      ir_.CreateSelect(ir_.CreateICmpULT(magnitude, bits(word, 0x38800000)), tiny, normal);
  result = ir_.CreateSelect(ir_.CreateICmpUGE(magnitude, bits(word, 0x47800000)),
                            bits(word, 0x7c00), result);
  result = ir_.CreateSelect(ir_.CreateICmpUGT(magnitude, bits(word, 0x7f800000)), nan, result);
  return ir_.CreateTrunc(ir_.CreateOr(result, sign), i16);
}

llvm::Value* Emitter::halfToFloat(Value* v) {
  llvm::Type* half = v->getType()->getWithNewType(ir_.getHalfTy());
  llvm::Type* f32 = v->getType()->getWithNewType(ir_.getFloatTy());
  if (target_.converts_half) return ir_.CreateFPExt(ir_.CreateBitCast(v, half), f32);
  llvm::Type* i32 = v->getType()->getWithNewType(ir_.getInt32Ty());
  Value* word = ir_.CreateZExt(v, i32);
  Value* sign = ir_.CreateShl(ir_.CreateAnd(word, bits(word, 0x8000)), bits(word, 16));
  Value* magnitude = ir_.CreateShl(ir_.CreateAnd(word, bits(word, 0x7fff)), bits(word, 13));
  // Scaling by 2^112 moves the exponent bias from 15 to 127, subnormals included.
  Value* finite = ir_.CreateFMul(ir_.CreateBitCast(magnitude, f32),
                                 llvm::ConstantFP::get(f32, 0x1p112));
  // Infinity and NaN: all exponent bits set; NaN becomes quiet, as F16C makes it.
  Value* special = ir_.CreateOr(magnitude, bits(word, 0x7f800000));
  Value* is_nan = ir_.CreateICmpUGT(magnitude, bits(word, 0x7c00u << 13));
  special = ir_.CreateOr(special, ir_.CreateSelect(is_nan, bits(word, 0x400000), bits(word, 0)));
  Value* is_special = ir_.CreateICmpUGE(magnitude, bits(word, 0x7c00u << 13));
  Value* result = ir_.CreateSelect(is_special, special, ir_.CreateBitCast(finite, i32));
  return ir_.CreateBitCast(ir_.CreateOr(result, sign), f32);
}

}  // namespace tercel::codegen
