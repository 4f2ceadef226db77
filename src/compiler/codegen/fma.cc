// Multiplication and addition rounded once, also on machines without an instruction for it: after
// Boldo and Melquiond, "Emulation of FMA and correctly rounded sums". A sum that is rounded to odd
// can be rounded again to fewer bits as if it had not been rounded.
#include "compiler/codegen/emitter.h"

namespace tercel::codegen {

using kernel::Scalar;

namespace {

// f64 arithmetic on one type, a scalar or a vector.
class Doubles {
 public:
  using Value = llvm::Value;
  struct Sum {
    Value *high, *low;  // rounded, and the error
  };

  Doubles(llvm::IRBuilder<>& ir, llvm::Type* type)
      : ir_(ir), type_(type), int_type_(type->getWithNewType(ir.getInt64Ty())) {}

  Value* fma(Value* a, Value* b, Value* c) {
    Scaled x = normalize(a), y = normalize(b), z = normalize(c);
    Value* exponent = ir_.CreateAdd(x.exponent, y.exponent);
    // c beside the product, which is in [1, 4): beyond these bounds only c counts, or its sign.
    Value* distance = ir_.CreateSub(z.exponent, exponent);
    Value* near = clamp(distance, -120, 110);
    Value* addend = ir_.CreateFMul(z.mantissa, powerOfTwo(near));
    addend = ir_.CreateSelect(ir_.CreateFCmpOEQ(c, number(0)), c, addend);
    Value* result = scaledSum(product(x.mantissa, y.mantissa), addend, exponent);
    Value* only_c = ir_.CreateAnd(ir_.CreateICmpSGT(distance, integer(110)),
                                  ir_.CreateFCmpONE(c, number(0)));
    result = ir_.CreateSelect(only_c, c, result);
    result = ir_.CreateSelect(isFinite(c), result, c);
    Value* plain = ir_.CreateFAdd(ir_.CreateFMul(a, b), c);
    return ir_.CreateSelect(ir_.CreateAnd(ordinaryFactor(a), ordinaryFactor(b)), result, plain);
  }

  // Knuth's TwoSum.
  Sum sum(Value* a, Value* b) {
    Value* high = ir_.CreateFAdd(a, b);
    Value* part = ir_.CreateFSub(high, a);
    Value* low = ir_.CreateFAdd(ir_.CreateFSub(a, ir_.CreateFSub(high, part)),
                                ir_.CreateFSub(b, part));
    return {high, low};
  }

  Value* sumRoundedToOdd(Value* a, Value* b) {
    auto [high, low] = sum(a, b);
    Value* word = asInt(high);
    Value* inexact = ir_.CreateFCmpONE(low, number(0));
    Value* even = ir_.CreateICmpEQ(ir_.CreateAnd(word, integer(1)), integer(0));
    Value* outwards = ir_.CreateICmpSGE(ir_.CreateXor(word, asInt(low)), integer(0));
    Value* step = ir_.CreateSelect(outwards, integer(1), integer(-1));
    return asFloat(ir_.CreateSelect(ir_.CreateAnd(inexact, even), ir_.CreateAdd(word, step), word));
  }

 private:
  // mantissa 2^exponent, 1 <= |mantissa| < 2; of 0, infinity and NaN whatever.
  struct Scaled {
    Value *mantissa, *exponent;
  };

  Scaled normalize(Value* v) {
    Value* subnormal = ir_.CreateFCmpOLT(abs(v), number(0x1p-1022));
    Value* word = asInt(ir_.CreateSelect(subnormal, ir_.CreateFMul(v, number(0x1p54)), v));
    Value* field = ir_.CreateAnd(ir_.CreateLShr(word, integer(52)), integer(0x7ff));
    Value* bias = ir_.CreateSelect(subnormal, integer(1023 + 54), integer(1023));
    constexpr int64_t kField = INT64_C(0x7ff) << 52;
    Value* mantissa = ir_.CreateOr(ir_.CreateAnd(word, integer(~kField)),
                                   integer(INT64_C(1023) << 52));
    return {asFloat(mantissa), ir_.CreateSub(field, bias)};
  }

  // Exact, by halves of 26 bits (Veltkamp, Dekker).
  Sum product(Value* a, Value* b) {
    auto split = [&](Value* v) {
      Value* scaled = ir_.CreateFMul(v, number(0x1p27 + 1));
      Value* high = ir_.CreateFSub(scaled, ir_.CreateFSub(scaled, v));
      return Sum{high, ir_.CreateFSub(v, high)};
    };
    Sum x = split(a), y = split(b);
    Value* high = ir_.CreateFMul(a, b);
    Value* low = ir_.CreateFSub(ir_.CreateFMul(x.high, y.high), high);
    low = ir_.CreateFAdd(low, ir_.CreateFMul(x.high, y.low));
    low = ir_.CreateFAdd(low, ir_.CreateFMul(x.low, y.high));
    return {high, ir_.CreateFAdd(low, ir_.CreateFMul(x.low, y.low))};
  }

  // (product + c) 2^exponent. Where that is subnormal, the end of its last place is the last place
  // of a sum with 2^-1022 of its sign.
  Value* scaledSum(Sum product, Value* c, Value* exponent) {
    Sum tail = sum(c, product.low);
    Sum head = sum(product.high, tail.high);
    Value* rest = sumRoundedToOdd(tail.low, head.low);
    Value* value = ir_.CreateFAdd(head.high, rest);
    Value* least = asFloat(ir_.CreateShl(ir_.CreateSub(integer(1), clamp(exponent, -2000, 0)),
                                         integer(52)));  // 2^(-1022 - exponent)
    Value* is_subnormal = ir_.CreateFCmpOLT(abs(value), least);
    Value* sign = ir_.CreateAnd(asInt(value), integer(INT64_MIN));
    Value* anchor = asFloat(ir_.CreateOr(asInt(least), sign));
    Sum anchored = sum(anchor, head.high);
    Value* rounded = ir_.CreateFAdd(anchored.high, sumRoundedToOdd(anchored.low, rest));
    rounded = ir_.CreateFSub(rounded, anchor);
    rounded = asFloat(ir_.CreateOr(asInt(rounded), sign));  // of a zero
    value = ir_.CreateSelect(is_subnormal, rounded, value);
    Value* near = clamp(exponent, -2000, 2046);
    Value* half = ir_.CreateAShr(near, integer(1));
    value = ir_.CreateFMul(value, powerOfTwo(half));
    return ir_.CreateFMul(value, powerOfTwo(ir_.CreateSub(near, half)));
  }

  Value* isFinite(Value* v) { return ir_.CreateFCmpOLT(abs(v), number(__builtin_inf())); }
  Value* ordinaryFactor(Value* v) {
    return ir_.CreateAnd(isFinite(v), ir_.CreateFCmpONE(v, number(0)));
  }
  Value* powerOfTwo(Value* k) {  // normal
    return asFloat(ir_.CreateShl(ir_.CreateAdd(k, integer(1023)), integer(52)));
  }
  Value* clamp(Value* v, int64_t low, int64_t high) {
    v = ir_.CreateSelect(ir_.CreateICmpSLT(v, integer(low)), integer(low), v);
    return ir_.CreateSelect(ir_.CreateICmpSGT(v, integer(high)), integer(high), v);
  }
  Value* abs(Value* v) {
    return ir_.CreateIntrinsic(llvm::Intrinsic::fabs, {type_}, {v});
  }
  Value* asInt(Value* v) { return ir_.CreateBitCast(v, int_type_); }
  Value* asFloat(Value* v) { return ir_.CreateBitCast(v, type_); }
  llvm::Constant* number(double v) { return llvm::ConstantFP::get(type_, v); }
  llvm::Constant* integer(int64_t v) {
    return llvm::ConstantInt::get(int_type_, static_cast<uint64_t>(v));
  }

  llvm::IRBuilder<>& ir_;
  llvm::Type *type_, *int_type_;
};

}  // namespace

llvm::Value* Emitter::emitFma(const Inst& inst) {
  Value *a = operand(inst, 0), *b = operand(inst, 1), *c = operand(inst, 2);
  if (target_.has_fma) return intrinsic(llvm::Intrinsic::fma, {a, b, c});
  return inst.type.scalar == Scalar::f32 ? emitFloatFma(a, b, c) : emitDoubleFma(a, b, c);
}

// In doubles the product is exact.
llvm::Value* Emitter::emitFloatFma(Value* a, Value* b, Value* c) {
  llvm::Type* f64 = a->getType()->getWithNewType(ir_.getDoubleTy());
  Value* product = ir_.CreateFMul(ir_.CreateFPExt(a, f64), ir_.CreateFPExt(b, f64));
  Value* odd = Doubles(ir_, f64).sumRoundedToOdd(product, ir_.CreateFPExt(c, f64));
  return ir_.CreateFPTrunc(odd, a->getType());
}

// A call, as it takes a hundred instructions.
llvm::Value* Emitter::emitDoubleFma(Value* a, Value* b, Value* c) {
  llvm::Type* type = a->getType();
  unsigned lanes = type->isVectorTy()
                       ? llvm::cast<llvm::FixedVectorType>(type)->getNumElements() : 1;
  std::string name = cat("fma.f64x", lanes);
  llvm::Function* function = module_.getFunction(name);
  if (!function) {
    auto* signature = llvm::FunctionType::get(type, {type, type, type}, false);
    function = llvm::Function::Create(signature, llvm::GlobalValue::InternalLinkage, name, module_);
    setAttributes(*function, target_.vector_bytes);
    llvm::IRBuilder<> body(llvm::BasicBlock::Create(module_.getContext(), "entry", function));
    body.CreateRet(Doubles(body, type).fma(function->getArg(0), function->getArg(1),
                                           function->getArg(2)));
  }
  return ir_.CreateCall(function, {a, b, c});
}

}  // namespace tercel::codegen
