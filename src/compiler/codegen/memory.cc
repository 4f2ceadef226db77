#include "compiler/codegen/emitter.h"

namespace tercel::codegen {

using kernel::Opcode;
using kernel::Scalar;

llvm::Type* Emitter::memoryType(kernel::Type t) {
  return t.scalar == Scalar::i1 ? lanesOf(ir_.getInt8Ty(), t.lanes) : type(t);
}

llvm::Value* Emitter::toMemory(Value* v, kernel::Type t) {
  return t.scalar == Scalar::i1 ? ir_.CreateZExt(v, memoryType(t)) : v;
}

llvm::Value* Emitter::fromMemory(Value* v, kernel::Type t) {
  return t.scalar == Scalar::i1 ? ir_.CreateICmpNE(v, bits(v, 0)) : v;
}

// Not `inbounds`: an index may lie outside as long as the mask leaves its lanes out.
llvm::Value* Emitter::address(const Inst& inst, Value* index) {
  const kernel::Buffer& buffer = kernel_.buffers[inst.imm];
  llvm::Type* element = memoryType({buffer.element, 1});
  Value* at = ir_.CreateGEP(element, buffers_[inst.imm], index);
  if (inst.offset == 0) return at;
  return ir_.CreateGEP(element, at, ir_.getInt64(static_cast<uint64_t>(inst.offset)));
}

template <class I>
I* Emitter::annotate(I* access, const Inst& inst) {
  size_t buffer = static_cast<size_t>(inst.imm);
  access->setMetadata(llvm::LLVMContext::MD_alias_scope, own_scope_[buffer]);
  if (other_scopes_[buffer]->getNumOperands())
    access->setMetadata(llvm::LLVMContext::MD_noalias, other_scopes_[buffer]);
  if (invariant_[buffer])
    access->setMetadata(llvm::LLVMContext::MD_invariant_load,
                        llvm::MDNode::get(module_.getContext(), {}));
  return access;
}

// A readable and writable place for the lanes that a mask leaves out.
llvm::Value* Emitter::spareSlot() {
  if (spare_slot_) return spare_slot_;
  llvm::BasicBlock& entry = function_->getEntryBlock();
  llvm::IRBuilder<> at_entry(&entry, entry.begin());
  llvm::AllocaInst* slot = at_entry.CreateAlloca(at_entry.getInt64Ty());
  at_entry.CreateStore(at_entry.getInt64(0), slot);
  return spare_slot_ = slot;
}

// Whether the target has an instruction for it; LLVM would branch around every lane otherwise.
bool Emitter::masksNatively(const Inst& inst, bool indexed) const {
  if (!inst.type.isVector()) return false;
  int width = kernel::bitWidth(inst.type.scalar);
  if (width >= 32) return target_.has_avx512 || (target_.has_avx2 && !indexed);
  return target_.has_avx512 && !indexed;
}

llvm::Value* Emitter::lanePointers(const Inst& inst) {
  Value* first = address(inst, operand(inst, 0));
  if (!inst.type.isVector()) return first;
  llvm::SmallVector<llvm::Constant*, 64> lanes;
  for (unsigned i = 0; i < inst.type.lanes; ++i) lanes.push_back(ir_.getInt64(i));
  llvm::Type* element = memoryType({inst.type.scalar, 1});
  return ir_.CreateGEP(element, first, llvm::ConstantVector::get(lanes));
}

llvm::Value* Emitter::placePointers(const Inst& inst) {
  llvm::Type* element = memoryType({inst.type.scalar, 1});
  return ir_.CreateGEP(element, address(inst, operand(inst, 0)), operand(inst, 1));
}

llvm::Value* Emitter::loadLanes(const Inst& inst, Value* pointers, Value* mask) {
  llvm::Type* element = memoryType({inst.type.scalar, 1});
  llvm::Align align(static_cast<uint64_t>(kernel::byteSize(inst.type.scalar)));
  bool all = llvm::isa<llvm::Constant>(mask) && llvm::cast<llvm::Constant>(mask)->isAllOnesValue();
  int lanes = inst.type.lanes;
  if (!all)
    pointers = ir_.CreateSelect(
        mask, pointers, lanes == 1 ? spareSlot() : ir_.CreateVectorSplat(lanes, spareSlot()));
  auto load = [&](Value* pointer) {
    return annotate(ir_.CreateAlignedLoad(element, pointer, align), inst);
  };
  Value* loaded = nullptr;
  if (lanes == 1) {
    loaded = load(pointers);
  } else {
    loaded = llvm::PoisonValue::get(memoryType(inst.type));
    for (uint64_t i = 0; i < static_cast<uint64_t>(lanes); ++i)
      loaded = ir_.CreateInsertElement(loaded, load(ir_.CreateExtractElement(pointers, i)), i);
  }
  if (all) return loaded;
  return ir_.CreateSelect(mask, loaded, llvm::Constant::getNullValue(loaded->getType()));
}

void Emitter::storeLanes(const Inst& inst, Value* pointers, Value* stored, Value* mask) {
  llvm::Align align(static_cast<uint64_t>(kernel::byteSize(inst.type.scalar)));
  int lanes = inst.type.lanes;
  pointers = ir_.CreateSelect(
      mask, pointers, lanes == 1 ? spareSlot() : ir_.CreateVectorSplat(lanes, spareSlot()));
  if (lanes == 1) {
    annotate(ir_.CreateAlignedStore(stored, pointers, align), inst);
    return;
  }
  for (uint64_t i = 0; i < static_cast<uint64_t>(lanes); ++i) {
    Value* lane = ir_.CreateExtractElement(stored, i);
    annotate(ir_.CreateAlignedStore(lane, ir_.CreateExtractElement(pointers, i), align), inst);
  }
}

llvm::Value* Emitter::emitLoad(const Inst& inst) {
  llvm::Align align(static_cast<uint64_t>(kernel::byteSize(inst.type.scalar)));
  return annotate(
      ir_.CreateAlignedLoad(memoryType(inst.type), address(inst, operand(inst, 0)), align), inst);
}

llvm::Value* Emitter::emitLoadMasked(const Inst& inst) {
  Value* mask = operand(inst, 1);
  if (!masksNatively(inst, false)) return loadLanes(inst, lanePointers(inst), mask);
  llvm::Type* memory = memoryType(inst.type);
  llvm::Align align(static_cast<uint64_t>(kernel::byteSize(inst.type.scalar)));
  return annotate(ir_.CreateMaskedLoad(memory, address(inst, operand(inst, 0)), align, mask,
                                       llvm::Constant::getNullValue(memory)),
                  inst);
}

llvm::Value* Emitter::emitGather(const Inst& inst) {
  Value *pointers = placePointers(inst), *mask = operand(inst, 2);
  if (!masksNatively(inst, true)) return loadLanes(inst, pointers, mask);
  llvm::Type* memory = memoryType(inst.type);
  llvm::Align align(static_cast<uint64_t>(kernel::byteSize(inst.type.scalar)));
  return annotate(ir_.CreateMaskedGather(memory, pointers, align, mask,
                                         llvm::Constant::getNullValue(memory)),
                  inst);
}

void Emitter::emitStore(const Inst& inst) {
  int64_t bytes = kernel::byteSize(inst.type.scalar);
  bool streaming = inst.op == Opcode::store_streaming;
  if (streaming)
    bytes = std::min(bytes * inst.type.lanes, kernel_.buffers[inst.imm].align);
  Value* stored = toMemory(operand(inst, 1), inst.type);
  llvm::StoreInst* store = ir_.CreateAlignedStore(stored, address(inst, operand(inst, 0)),
                                                  llvm::Align(static_cast<uint64_t>(bytes)));
  annotate(store, inst);
  if (!streaming) return;
  llvm::LLVMContext& context = module_.getContext();
  store->setMetadata(llvm::LLVMContext::MD_nontemporal,
                     llvm::MDNode::get(context, llvm::ConstantAsMetadata::get(ir_.getInt32(1))));
}

void Emitter::emitStoreMasked(const Inst& inst) {
  Value *stored = toMemory(operand(inst, 1), inst.type), *mask = operand(inst, 2);
  if (!masksNatively(inst, false)) return storeLanes(inst, lanePointers(inst), stored, mask);
  llvm::Align align(static_cast<uint64_t>(kernel::byteSize(inst.type.scalar)));
  annotate(ir_.CreateMaskedStore(stored, address(inst, operand(inst, 0)), align, mask), inst);
}

void Emitter::emitScatter(const Inst& inst) {
  Value *pointers = placePointers(inst), *mask = operand(inst, 3);
  Value* stored = toMemory(operand(inst, 2), inst.type);
  if (!masksNatively(inst, true)) return storeLanes(inst, pointers, stored, mask);
  llvm::Align align(static_cast<uint64_t>(kernel::byteSize(inst.type.scalar)));
  annotate(ir_.CreateMaskedScatter(stored, pointers, align, mask), inst);
}

void Emitter::emitMemory(const Inst& inst) {
  switch (inst.op) {
    case Opcode::load: value(inst.results[0]) = fromMemory(emitLoad(inst), inst.type); return;
    case Opcode::load_masked:
      value(inst.results[0]) = fromMemory(emitLoadMasked(inst), inst.type);
      return;
    case Opcode::gather: value(inst.results[0]) = fromMemory(emitGather(inst), inst.type); return;
    case Opcode::store: case Opcode::store_streaming: return emitStore(inst);
    case Opcode::store_masked: return emitStoreMasked(inst);
    case Opcode::scatter: return emitScatter(inst);
    case Opcode::tile_load: case Opcode::tile_store: return emitTiles(inst);
    case Opcode::prefetch: {
      Value* pointer = address(inst, operand(inst, 0));
      ir_.CreateIntrinsic(llvm::Intrinsic::prefetch, {pointer->getType()},
                          {pointer, ir_.getInt32(0), ir_.getInt32(3), ir_.getInt32(1)});
      return;
    }
    default: TERCEL_CHECK(false, "no code for ", kernel::opcodeName(inst.op));
  }
}

}  // namespace tercel::codegen
