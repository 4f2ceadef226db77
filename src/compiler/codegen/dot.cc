// Products of the parts of words, added up: by x86's instructions for whole registers, else part
// by part.
#include <llvm/IR/IntrinsicsX86.h>

#include "compiler/codegen/by_width.h"
#include "compiler/codegen/emitter.h"

namespace tercel::codegen {

namespace intrinsics = llvm::Intrinsic;

namespace {

constexpr ByWidth kByteDots = {intrinsics::x86_avx512_vpdpbusd_128,
                               intrinsics::x86_avx512_vpdpbusd_256,
                               intrinsics::x86_avx512_vpdpbusd_512};
constexpr ByWidth kHalfDots = {intrinsics::x86_avx512_vpdpwssd_128,
                               intrinsics::x86_avx512_vpdpwssd_256,
                               intrinsics::x86_avx512_vpdpwssd_512};
constexpr ByWidth kHalvesUnadded = {intrinsics::x86_sse2_pmadd_wd, intrinsics::x86_avx2_pmadd_wd,
                                    intrinsics::x86_avx512_pmaddw_d_512};

constexpr ByWidth kBFloat16 = {intrinsics::x86_avx512bf16_dpbf16ps_128,
                               intrinsics::x86_avx512bf16_dpbf16ps_256,
                               intrinsics::x86_avx512bf16_dpbf16ps_512};

// Where vectors of so many bytes have it.
intrinsics::ID upTo(int most_bytes, const ByWidth& instruction, llvm::Type* type) {
  const auto most_bits = 8 * static_cast<uint64_t>(most_bytes);
  const bool wide = type->getPrimitiveSizeInBits().getFixedValue() > most_bits;
  return wide ? intrinsics::not_intrinsic : instruction.of(type);
}

}  // namespace

llvm::Value* Emitter::emitDotHalves(Value* a, Value* b, Value* c) {
  intrinsics::ID id = upTo(target_.byte_dot_bytes, kHalfDots, c->getType());
  if (id != intrinsics::not_intrinsic) return ir_.CreateIntrinsic(id, {}, {c, a, b});
  id = upTo(target_.has_pair_dot ? target_.vector_bytes : 0, kHalvesUnadded, c->getType());
  if (id == intrinsics::not_intrinsic) return emitDotOfParts(a, b, c, 16, true);
  auto* words = llvm::cast<llvm::FixedVectorType>(c->getType());
  auto* halves = llvm::FixedVectorType::get(ir_.getInt16Ty(), 2 * words->getNumElements());
  Value* sums = ir_.CreateIntrinsic(
      id, {}, {ir_.CreateBitCast(a, halves), ir_.CreateBitCast(b, halves)});
  return ir_.CreateAdd(sums, c);
}

llvm::Value* Emitter::emitDotBytes(Value* a, Value* b, Value* c) {
  intrinsics::ID id = upTo(target_.byte_dot_bytes, kByteDots, c->getType());
  if (id != intrinsics::not_intrinsic) return ir_.CreateIntrinsic(id, {}, {c, a, b});
  return emitDotOfParts(a, b, c, 8, false);
}

llvm::Value* Emitter::emitDotBFloat16(Value* a, Value* b, Value* c) {
  TERCEL_CHECK(target_.has_bf16_dot, "dot_bf16 on ", target_.cpu);
  auto* sums = llvm::cast<llvm::FixedVectorType>(c->getType());
  auto* parts = llvm::FixedVectorType::get(ir_.getBFloatTy(), 2 * sums->getNumElements());
  return ir_.CreateIntrinsic(kBFloat16.of(sums), {},
                             {c, ir_.CreateBitCast(a, parts), ir_.CreateBitCast(b, parts)});
}

// b's parts are signed, a's as said.
llvm::Value* Emitter::emitDotOfParts(Value* a, Value* b, Value* c, unsigned width, bool is_signed) {
  for (unsigned i = 0; i < 32; i += width) {
    auto part = [&](Value* v, bool has_sign) {
      Value* top = ir_.CreateShl(v, bits(v, 32 - width - i));
      llvm::Constant* down = bits(v, 32 - width);
      return has_sign ? ir_.CreateAShr(top, down) : ir_.CreateLShr(top, down);
    };
    c = ir_.CreateAdd(c, ir_.CreateMul(part(a, is_signed), part(b, true)));
  }
  return c;
}

}  // namespace tercel::codegen
