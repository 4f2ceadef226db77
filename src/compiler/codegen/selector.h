// A kernel -> machine instructions of x86-64 with AVX-512, one for one. LLVM's own instruction
// selection, which rewrites graphs until nothing changes, takes half of the time that a kernel
// takes to compile; kernel IR says already what it would look for.
//
// Instructions are named as LLVM's tables name them: stem, width (Z, Z256, Z128), operands (rr,
// rm).
#pragma once
#include <llvm/ADT/SmallVector.h>
#include <llvm/CodeGen/MachineFunction.h>
#include <llvm/CodeGen/MachineInstrBuilder.h>
#include <llvm/CodeGen/TargetInstrInfo.h>
#include <llvm/CodeGen/TargetRegisterInfo.h>

#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "compiler/codegen/codegen.h"
#include "compiler/codegen/x86_names.h"
#include "compiler/kernel/kernel.h"

namespace tercel::codegen {

class Selector {
 public:
  // The function has one pointer argument, which aliases no other, for each buffer of the kernel
  // that may overlap no other; `functions` are the kernel's own.
  Selector(llvm::MachineFunction& function, const kernel::Kernel& kernel,
           std::vector<llvm::Function*> functions, const Target& target);

  // False where the kernel has something that only LLVM's selection knows; the function is then in
  // no state to be used.
  bool run();

 private:
  using Reg = llvm::Register;
  using Inst = kernel::Inst;
  using V = kernel::V;
  using Type = kernel::Type;
  using Opcode = kernel::Opcode;
  using Scalar = kernel::Scalar;
  using Block = llvm::MachineBasicBlock;
  using Builder = llvm::MachineInstrBuilder;

  // x86's codes of conditions.
  enum class Condition : uint8_t { below = 2, above_equal, equal, not_equal, below_equal, above,
                                   unordered = 10, ordered, less, greater_equal, less_equal,
                                   greater };
  struct Address {
    Reg base, index;
    int64_t scale = 1, offset = 0;
    const llvm::Value* memory = nullptr;
  };

  // selector.cc: the function and its blocks
  void prologue();
  void emitBlock(kernel::BlockId id);
  void hoist(const kernel::Block& block);
  void emit(const Inst& inst);
  Block* newBlock();
  // One whose place in the function is behind what is still to come.
  Block* laterBlock();
  void place(Block* block);
  void jump(Block* to);
  void branch(Condition condition, Block* to, Block* otherwise);
  llvm::MachineInstr* phi(V v);
  void refuse() { refused_ = true; }

  // What an instruction is made of.
  Reg newReg(Type type);
  Reg newReg(std::string_view register_class);
  const llvm::TargetRegisterClass* classOf(Type type);
  Builder start(const std::string& name, Reg result);
  Builder startIn(Block& block, Block::iterator at, const std::string& name, Reg result);
  void finish(llvm::MachineInstr& inst);
  Reg make(const std::string& name, Reg result, std::initializer_list<Reg> operands,
           int64_t immediate = kNoImmediate);
  Reg make(const std::string& name, Type type, std::initializer_list<Reg> operands,
           int64_t immediate = kNoImmediate) {
    return make(name, newReg(type), operands, immediate);
  }
  Reg copy(Reg from, Reg to, unsigned part = 0);
  Reg undefined(Type type);
  static constexpr int64_t kNoImmediate = INT64_MIN;

  // selector_constants.cc
  Reg constant(Type type, uint64_t bits);
  Reg makeConstant(Type type, uint64_t bits);
  Reg vectorConstant(Type type, llvm::Constant* value);
  Reg lanesConstant(Type type, llvm::ArrayRef<uint64_t> lanes);
  Reg maskConstant(int lanes, uint64_t bits);
  void addPool(Builder& inst, llvm::Constant* value, uint64_t bytes);
  void addRepeated(Builder& inst, const Inst& number);
  bool constantBits(V v, uint64_t* bits) const;
  // A vector of one number that is used once: an operand in memory, repeated.
  const Inst* repeatedOperand(V v) const;

  // selector_arith.cc
  Reg value(V v);
  Reg pure(const Inst& inst);
  Reg dot(const Inst& inst);
  Reg binary(const Inst& inst);
  Reg bitsOfThree(const Inst& inst);
  Reg scalarBinary(const Inst& inst);
  int scaleOf(const Inst& inst) const;
  Reg scaledSum(const Inst& product, int64_t added);
  Reg rotation(const Inst& inst);
  Reg shift(const Inst& inst);
  Reg vectorOp(const std::string& stem, const Inst& inst, bool commutes);
  Reg splat(const Inst& inst);
  Reg splatMask(Reg set, Type type);
  Reg rarely(const Inst& inst);

  // selector_control.cc
  void emitFor(const Inst& inst);
  void emitWhile(const Inst& inst);
  void emitIf(const Inst& inst);
  void emitSeldom(const Inst& inst);
  void jumpSeldom(Condition condition, Block* rare, Block* join);
  Condition flagsOf(V condition);
  std::optional<Condition> flagsOfNumbers(const Inst& inst);

  // selector_divide.cc
  Reg highProduct(const Inst& inst);
  Reg highProduct(Type type, Reg a, Reg b, bool is_signed);
  Reg highProductOfLong(Type type, Reg a, Reg b, bool is_signed);
  Reg divide(const Inst& inst);
  Reg divideNumber(const Inst& inst, uint64_t divisor);
  Reg divideVector(const Inst& inst, const llvm::APInt& divisor, bool is_signed);
  Reg unsignedQuotient(Type type, Reg x, const llvm::APInt& divisor);
  Reg signedQuotient(Type type, Reg x, const llvm::APInt& divisor);
  Reg onLanes(const char* stem, Type type, Reg a, Reg b);
  Reg shiftedLanes(const char* stem, Type type, Reg x, unsigned by);

  // selector_known.cc
  using Lanes = llvm::SmallVector<uint64_t, 16>;
  const Lanes* lanesOf(V v, Lanes& storage) const;
  Lanes knownLanes(const Inst& inst) const;
  Reg knownVector(const Inst& inst);

  // selector_float.cc
  Reg fma(const Inst& inst);
  Reg extremum(const Inst& inst);
  Reg signOp(const Inst& inst);
  Reg rounded(const Inst& inst);

  // selector_flags.cc
  void state(const Inst& inst);
  Reg flags(int place);

  // selector_compare.cc
  Reg compare(const Inst& inst);
  Reg compareMasks(const Inst& inst);
  Reg compareVectors(const Inst& inst, Type type);
  Reg select(const Inst& inst);
  Reg merge(const Inst& inst, Reg mask, Reg a, Reg b);
  Reg underMask(llvm::MachineInstr* old, Type type, std::initializer_list<Reg> first);
  Reg mergeSum(const Inst& inst, Reg mask, Reg a, Reg b);
  Reg compareWithin(const Inst& inst);
  Reg maskOf(Reg set, int lanes, bool in_all);
  void keepMask(const Inst& inst);

  // selector_bytes.cc
  Reg byteProduct(const Inst& inst);
  Reg byteShift(const Inst& inst);
  Reg byteShiftBy(const Inst& inst, int64_t amount);
  Reg joinedBytes(Type type, Reg lower, Reg upper);
  Reg wordOp(const char* stem, Type type, Reg a, Reg b);
  Reg wordShift(const char* stem, Type type, Reg a, int64_t by);

  // selector_shuffle.cc
  Reg extract(const Inst& inst);
  Reg blockOf(Reg v, Type from, Type block, int which);
  Reg shuffle(const Inst& inst);
  Reg lookUp(const Inst& inst);
  Reg shuffleWithin(const Inst& inst, Reg a, Type from);
  Reg shuffleBytes(const Inst& inst, Type from);
  Reg shuffleWhole(const Inst& inst, Type from);
  Reg partOfMask(const Inst& inst);
  Reg widened(Reg a, Reg b, Type half);

  // selector_permute.cc
  Reg permute(const Inst& inst, Reg a, Reg b, Type type);
  Reg permuteWithin(const Inst& inst, Reg a, Reg b, Type type);
  Reg permuteByBlocks(const Inst& inst, Reg a, Reg b, Type type);
  Reg blend(const Inst& inst, Reg a, Reg b, Type type);

  // selector_convert.cc
  Reg convert(const Inst& inst);
  Reg convertNarrow(const Inst& inst, Type from);
  Reg convertInteger(const Inst& inst, Type from);
  Reg convertScalar(const Inst& inst, Type from);
  Reg fromMask(Reg mask, Type type);
  Reg toMask(Reg v, Type from);
  Reg toBFloat16(const Inst& inst);
  Reg toOneBFloat16(const Inst& inst);
  bool hasShortNaNs(V v, int depth = 5) const;
  Reg roundedToBFloat16(const Inst& inst, Reg v, Type words);
  Reg bitcast(const Inst& inst);

  // selector_lanes.cc
  Reg inLane(V v);
  Reg makeInLane(const Inst& inst, Type lanes);
  Reg toLane(V v, Type lanes);

  // selector_memory.cc
  void memory(const Inst& inst);
  Address addressOf(const Inst& inst);
  void addAddress(Builder& inst, const Address& address, bool is_store, uint64_t bytes);
  Reg load(const Inst& inst, Reg mask);
  void loadRepeated(const Inst& inst, const Inst& splat);
  void store(const Inst& inst, Reg mask);

  // selector_gather.cc
  Address placesOf(const Inst& inst);
  bool isIndexed(const Inst& inst) const;
  Reg gather(const Inst& inst);
  void scatter(const Inst& inst);
  Reg gatherByLoads(const Inst& inst);
  Reg pairOf(Reg places, Type type, int lane);
  Reg loadLane(Type block, Reg before, int lane, const Address& address);
  Reg joinedBlocks(std::vector<Reg> blocks, Type block);

  Type typeOf(const Inst& inst, size_t operand) const {
    return kernel_.type(inst.operands[operand]);
  }
  Reg operand(const Inst& inst, size_t i) { return value(inst.operands[i]); }
  // One that the target computes with.
  bool isHalfVector(Type type) const {
    return target_.has_avx512_fp16 && type.isVector() && type.scalar == Scalar::f16;
  }

  llvm::MachineFunction& function_;
  const kernel::Kernel& kernel_;
  std::vector<llvm::Function*> functions_;
  const Target& target_;
  llvm::MachineRegisterInfo& regs_;
  const llvm::TargetInstrInfo& insts_;
  const llvm::TargetRegisterInfo& classes_;
  const X86Names& names_;
  Block* block_ = nullptr;  // where instructions are put, at its end
  Block* entry_ = nullptr;  // constants and buffers
  std::vector<Reg> values_, buffers_;
  std::vector<Reg> words_;  // by V: of a bf16 the words whose upper halves it is
  std::vector<Reg> masks_;  // by V: of an i1 that follows from floats, masks with it as first lane
  struct Lane {
    Reg reg;
    Block* block = nullptr;  // the one that has it
    bool is_none = false;
  };
  std::vector<Lane> lanes_;  // by V
  // Of so many lanes of so many bits (-1: of a bit each, as said).
  std::map<std::tuple<int, int, uint64_t>, Reg> constants_;
  std::map<uint32_t, Lanes> known_;                          // by V: what lanes have
  std::vector<const llvm::Value*> memory_;  // of each buffer
  std::vector<bool> invariant_;             // nothing writes it, or one that overlaps it
  std::vector<uint32_t> uses_;              // by V
  std::vector<const Inst*> splat_;          // by V: of a number that is loaded for it alone
  bool refused_ = false;
  std::vector<Block*> later_;  // not placed yet
  std::vector<Block*> aside_;  // behind all others
};

}  // namespace tercel::codegen
