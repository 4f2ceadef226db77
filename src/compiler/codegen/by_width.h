// Instructions that exist once for each width of vector registers.
#pragma once
#include <llvm/IR/Intrinsics.h>
#include <llvm/IR/Type.h>

namespace tercel::codegen {

struct ByWidth {
  llvm::Intrinsic::ID of128, of256, of512;
  // The one for vectors of this type; not_intrinsic for scalars and other widths.
  llvm::Intrinsic::ID of(llvm::Type* type) const {
    switch (type->isVectorTy() ? type->getPrimitiveSizeInBits().getFixedValue() : 0) {
      case 128: return of128;
      case 256: return of256;
      case 512: return of512;
      default: return llvm::Intrinsic::not_intrinsic;
    }
  }
};

}  // namespace tercel::codegen
