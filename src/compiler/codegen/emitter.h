// A kernel, or a function of one -> one LLVM function, already in SSA form: blocks become basic
// blocks, what a loop carries becomes phis. f16 and bf16 values are i16 here: only conversions look
// inside them.
#pragma once
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Module.h>

#include <vector>

#include "compiler/codegen/backend.h"
#include "compiler/codegen/codegen.h"

namespace tercel::codegen {

// What every function says: how wide its vectors are.
void setAttributes(llvm::Function& function, int vector_bytes);
// Where a kernel has more values than registers: vectors that are spilled lie in lines of the cache
// of their own. LLVM must know before it counts them.
void alignSpills(llvm::Function& function, const kernel::Kernel& kernel, int vector_bytes);

class Emitter {
 public:
  Emitter(llvm::Module& module, const Target& target, const kernel::Kernel& kernel)
      : module_(module), target_(target), kernel_(kernel),
        backend_(backendOf(target.architecture)), ir_(module.getContext()) {}
  void emitKernel();
  void emitFunction(kernel::FunctionId function);

 private:
  using Value = llvm::Value;
  using Inst = kernel::Inst;
  using V = kernel::V;

  // emitter.cc: the function and its control flow
  void declareFunction();
  void loadBuffers();
  Value* addressOf(const kernel::Buffer& buffer);
  void tellBuffersApart();
  void emitBlock(kernel::BlockId id);
  void hoist(const kernel::Block& block);
  void breakShuffleChain(const Inst& inst);
  void emitInst(const Inst& inst);
  void emitFor(const Inst& inst);
  void emitWhile(const Inst& inst);
  void emitIf(const Inst& inst);
  Value* condition(const Inst& inst);

  // functions.cc: what kernels share
  void declareFunctions();
  Value* emitRarely(const Inst& inst);
  llvm::PHINode* phi(V v);
  llvm::BasicBlock* newBlock(const char* name);

  // registers.cc
  Value* variable(const kernel::Buffer& buffer);
  void promoteVariables();

  // arith.cc
  Value* emitPure(const Inst& inst);
  void checkFloatWidth(const Inst& inst) const;
  Value* emitConstant(const Inst& inst);
  Value* emitLaneIds(const Inst& inst);
  Value* emitShuffle(const Inst& inst);
  Value* shuffled(Value* a, Value* b, llvm::ArrayRef<int> lanes);
  Value* emitBinary(const Inst& inst);
  Value* emitArithmetic(kernel::Opcode op, Value* a, Value* b);
  bool isHalfArithmetic(const Inst& inst) const;
  Value* emitHalf(const Inst& inst);
  Value* emitMulHigh(Value* a, Value* b);
  Value* emitMulHigh64(Value* a, Value* b);
  Value* emitFloatUnary(const Inst& inst);
  Value* emitAvx512(llvm::Intrinsic::ID id, std::initializer_list<Value*> operands);
  Value* emitExtremum(const Inst& inst);
  Value* emitScalb(Value* a, Value* exponent);
  llvm::Value* emitRsqrt14(llvm::Value* a);
  Value* emitCompare(const Inst& inst);
  static llvm::CmpInst::Predicate comparisonOf(const Inst& inst);
  Value* intrinsic(llvm::Intrinsic::ID id, std::initializer_list<Value*> operands);

  // lookup.cc
  Value* emitLookup(const Inst& inst);

  // dot.cc
  Value* emitDotHalves(Value* a, Value* b, Value* c);
  Value* emitDotBytes(Value* a, Value* b, Value* c);
  Value* emitDotBFloat16(Value* a, Value* b, Value* c);
  Value* emitDotOfParts(Value* a, Value* b, Value* c, unsigned width, bool is_signed);

  // fma.cc
  Value* emitFma(const Inst& inst);
  Value* emitFloatFma(Value* a, Value* b, Value* c);
  Value* emitDoubleFma(Value* a, Value* b, Value* c);

  // convert.cc
  Value* emitConversion(const Inst& inst);
  Value* widenFloat(Value* v, kernel::Type from, kernel::Scalar to);
  Value* narrowFloat(Value* v, kernel::Type from, kernel::Scalar to);
  Value* floatToOddFloat(Value* v);
  Value* floatToBFloat16(Value* v);
  Value* floatToHalf(Value* v);
  Value* halfToFloat(Value* v);

  // memory.cc
  void emitMemory(const Inst& inst);
  void emitTiles(const Inst& inst);
  // flags.cc
  void emitState(const Inst& inst);
  Value* flags(Value* place);
  llvm::Constant* tileShapes();
  Value* address(const Inst& inst, Value* index);
  Value* emitLoad(const Inst& inst);
  Value* emitLoadMasked(const Inst& inst);
  Value* emitGather(const Inst& inst);
  void emitStore(const Inst& inst);
  void emitStoreMasked(const Inst& inst);
  void emitScatter(const Inst& inst);
  Value* loadLanes(const Inst& inst, Value* pointers, Value* mask);
  void storeLanes(const Inst& inst, Value* pointers, Value* value, Value* mask);
  Value* lanePointers(const Inst& inst);   // of a load or store
  Value* placePointers(const Inst& inst);  // of a gather or scatter
  Value* spareSlot();
  bool masksNatively(const Inst& inst, bool indexed) const;
  Value* toMemory(Value* v, kernel::Type type);
  Value* fromMemory(Value* v, kernel::Type type);
  llvm::Type* memoryType(kernel::Type type);
  template <class I>
  I* annotate(I* access, const Inst& inst);

  llvm::Type* scalarType(kernel::Scalar scalar);
  llvm::Type* lanesOf(llvm::Type* element, int lanes) {
    return lanes == 1 ? element : llvm::FixedVectorType::get(element, lanes);
  }
  llvm::Type* type(kernel::Type t) { return lanesOf(scalarType(t.scalar), t.lanes); }
  llvm::Type* integersLike(Value* v) {
    return v->getType()->getWithNewType(ir_.getIntNTy(v->getType()->getScalarSizeInBits()));
  }
  // An integer constant of v's type.
  llvm::Constant* bits(Value* v, uint64_t value) {
    return llvm::ConstantInt::get(v->getType(), value);
  }
  Value* operand(const Inst& inst, size_t i) const { return values_[inst.operands[i].index]; }
  Value*& value(V v) { return values_[v.index]; }
  kernel::Type typeOf(const Inst& inst, size_t operand) const {
    return kernel_.type(inst.operands[operand]);
  }

  llvm::Module& module_;
  const Target& target_;
  const kernel::Kernel& kernel_;
  const Backend& backend_;
  llvm::IRBuilder<> ir_;
  llvm::Function* function_ = nullptr;
  std::vector<llvm::Function*> functions_;  // the kernel's own
  std::vector<Value*> values_;   // by V
  std::vector<int> shuffles_;    // by V: one after another, those before the chain was broken too
  int broken_at_ = 0, last_shuffles_ = 0;
  std::vector<Value*> buffers_;  // base pointer of each buffer
  std::vector<llvm::MDNode*> own_scope_, other_scopes_;  // of each buffer
  std::vector<bool> invariant_;  // nothing writes this buffer or one that overlaps it
  Value* spare_slot_ = nullptr;
  bool has_variables_ = false;
};

}  // namespace tercel::codegen
