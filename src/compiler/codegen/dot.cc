// Products of the parts of integers, added up: by x86's instructions for whole registers, else part
// by part.
#include <llvm/IR/IntrinsicsX86.h>

#include "compiler/codegen/emitter.h"

namespace tercel::codegen {

namespace intrinsics = llvm::Intrinsic;

namespace {

// By the width of a register.
struct ByWidth {
  intrinsics::ID of128, of256, of512;
  intrinsics::ID of(unsigned bits, int most_bytes) const {
    if (bits > 8 * static_cast<unsigned>(most_bytes)) return intrinsics::not_intrinsic;
    switch (bits) {
      case 128: return of128;
      case 256: return of256;
      case 512: return of512;
      default: return intrinsics::not_intrinsic;
    }
  }
};

constexpr ByWidth kBytes = {intrinsics::x86_avx512_vpdpbusd_128,
                            intrinsics::x86_avx512_vpdpbusd_256,
                            intrinsics::x86_avx512_vpdpbusd_512};
constexpr ByWidth kHalves = {intrinsics::x86_avx512_vpdpwssd_128,
                             intrinsics::x86_avx512_vpdpwssd_256,
                             intrinsics::x86_avx512_vpdpwssd_512};
constexpr ByWidth kHalvesUnadded = {intrinsics::x86_sse2_pmadd_wd, intrinsics::x86_avx2_pmadd_wd,
                                    intrinsics::x86_avx512_pmaddw_d_512};

unsigned registerBits(llvm::Value* v) {
  return v->getType()->isVectorTy()
             ? static_cast<unsigned>(v->getType()->getPrimitiveSizeInBits().getFixedValue())
             : 0;
}

}  // namespace

llvm::Value* Emitter::emitDotHalves(Value* a, Value* b, Value* c) {
  unsigned width = registerBits(c);
  intrinsics::ID id = kHalves.of(width, target_.byte_dot_bytes);
  if (id != intrinsics::not_intrinsic) return ir_.CreateIntrinsic(id, {}, {c, a, b});
  id = kHalvesUnadded.of(width, target_.has_pair_dot ? target_.vector_bytes : 0);
  if (id == intrinsics::not_intrinsic) return emitDotOfParts(a, b, c, 16, true);
  auto* halves = llvm::FixedVectorType::get(ir_.getInt16Ty(), width / 16);
  Value* sums = ir_.CreateIntrinsic(
      id, {}, {ir_.CreateBitCast(a, halves), ir_.CreateBitCast(b, halves)});
  return ir_.CreateAdd(sums, c);
}

llvm::Value* Emitter::emitDotBytes(Value* a, Value* b, Value* c) {
  intrinsics::ID id = kBytes.of(registerBits(c), target_.byte_dot_bytes);
  if (id != intrinsics::not_intrinsic) return ir_.CreateIntrinsic(id, {}, {c, a, b});
  return emitDotOfParts(a, b, c, 8, false);
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
