// x86's tile registers, by number: LLVM's intrinsics that leave their allocation to the caller.
#include <llvm/IR/IntrinsicsX86.h>

#include "compiler/codegen/emitter.h"

namespace tercel::codegen {

namespace intrinsics = llvm::Intrinsic;

using kernel::Opcode;

// The shapes of all tiles, as the instruction that sets them up reads them.
llvm::Constant* Emitter::tileShapes() {
  constexpr int kColumnBytesAt = 16, kRowsAt = 48;
  uint8_t shapes[64] = {1};  // palette
  for (int tile = 0; tile < kernel::kTiles; ++tile) {
    shapes[kColumnBytesAt + 2 * tile] = kernel::kTileRowBytes;
    shapes[kRowsAt + tile] = kernel::kTileRows;
  }
  auto* data = llvm::ConstantDataArray::get(module_.getContext(), llvm::ArrayRef(shapes));
  auto* global = new llvm::GlobalVariable(module_, data->getType(), /*isConstant=*/true,
                                          llvm::GlobalValue::PrivateLinkage, data);
  global->setUnnamedAddr(llvm::GlobalValue::UnnamedAddr::Global);
  global->setAlignment(llvm::Align(64));
  return global;
}

void Emitter::emitTiles(const Inst& inst) {
  auto tile = [&](size_t i) { return ir_.getInt8(static_cast<uint8_t>(inst.list[i])); };
  auto emit = [&](intrinsics::ID id, llvm::ArrayRef<Value*> operands) {
    ir_.CreateIntrinsic(id, {}, operands);
  };
  auto move = [&](intrinsics::ID id) {
    int64_t pitch = inst.list[1] * kernel::byteSize(inst.type.scalar);
    emit(id, {tile(0), address(inst, operand(inst, 0)),
              ir_.getInt64(static_cast<uint64_t>(pitch))});
  };
  auto dot = [&](intrinsics::ID id) { emit(id, {tile(0), tile(1), tile(2)}); };
  switch (inst.op) {
    case Opcode::tiles_begin: return emit(intrinsics::x86_ldtilecfg, {tileShapes()});
    case Opcode::tiles_end: return emit(intrinsics::x86_tilerelease, {});
    case Opcode::tile_zero: return emit(intrinsics::x86_tilezero, {tile(0)});
    case Opcode::tile_load: return move(intrinsics::x86_tileloadd64);
    case Opcode::tile_store: return move(intrinsics::x86_tilestored64);
    case Opcode::tile_dot_bf16: return dot(intrinsics::x86_tdpbf16ps);
    case Opcode::tile_dot_s8s8: return dot(intrinsics::x86_tdpbssd);
    case Opcode::tile_dot_s8u8: return dot(intrinsics::x86_tdpbsud);
    case Opcode::tile_dot_u8s8: return dot(intrinsics::x86_tdpbusd);
    case Opcode::tile_dot_u8u8: return dot(intrinsics::x86_tdpbuud);
    default: TERCEL_CHECK(false, "no code for ", kernel::opcodeName(inst.op));
  }
}

}  // namespace tercel::codegen
