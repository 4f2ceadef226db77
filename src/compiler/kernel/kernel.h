// The kernel IR: loops, vectors and memory references; one Kernel becomes one native function
//
//   void kernel(void* const* params, int64_t begin, int64_t end, void* scratch)
//
// which runs the tasks [begin, end) of the kernel's task range. Everything that scheduling decides
// (loop order, tiles, vector width, unrolling, what lives in registers) is visible here; turning it
// into LLVM IR is mechanical. Values are SSA; blocks nest; a block sees the values around it.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/dtype.h"
#include "core/small_vector.h"

namespace tercel::kernel {

enum class Opcode : uint8_t {
#define INST(name, operands, cls) name,
#include "compiler/kernel/insts.def"
};
enum class InstClass : uint8_t { pure, memory, state, control };
std::string_view opcodeName(Opcode op);  // without the trailing underscore
int opcodeOperands(Opcode op);
InstClass instClass(Opcode op);
int opcodeTiles(Opcode op);  // how many numbers of tiles its list begins with
bool isStore(Opcode op);    // of numbers
bool hasResult(Opcode op);  // one value; instructions that hold blocks have any number

enum class Scalar : uint8_t { i1, i8, i16, i32, i64, f16, bf16, f32, f64 };
std::string_view scalarName(Scalar s);
int64_t byteSize(Scalar s);  // 1 for i1
int bitWidth(Scalar s);
inline bool isFloat(Scalar s) { return s >= Scalar::f16; }
// Whether an operation on floats is there for s, of 16 bits: signs; of f16 what some machines have.
bool isOfShort(Opcode op, Scalar s);

struct Type {
  Scalar scalar = Scalar::i64;
  uint16_t lanes = 1;
  bool isVector() const { return lanes > 1; }
  Type with(Scalar s) const { return {s, lanes}; }
  friend bool operator==(Type, Type) = default;
};
std::string toString(Type type);  // f32, f32x16

// fcmp: o* are false where an operand is NaN, u* true (une: not equal or NaN; uno: any NaN).
enum class Predicate : uint8_t {
  eq, ne, slt, sle, sgt, sge, ult, ule, ugt, uge,
  oeq, one, olt, ole, ogt, oge, ord, uno, ueq, une, fult, fule, fugt, fuge
};
std::string_view predicateName(Predicate p);

struct V {
  static constexpr uint32_t kNone = 0xffffffffu;
  uint32_t index = kNone;
  bool valid() const { return index != kNone; }
  friend bool operator==(V, V) = default;
};
using BlockId = uint32_t;
using InstId = uint32_t;
using BufferId = uint32_t;
using FunctionId = uint32_t;

// Behind each piece of scratch memory: what a whole vector that starts in it may read and write.
inline constexpr int64_t kScratchSlack = 64;

inline constexpr int kTiles = 8, kTileRows = 16, kTileRowBytes = 64;

// Where memory comes from: a parameter (params[param]) or the task's own scratch memory.
struct Buffer {
  Scalar element = Scalar::f32;
  int32_t param = -1;          // -1: scratch
  int64_t scratch_offset = 0;  // bytes
  int64_t elements = 0;        // of scratch memory; kScratchSlack bytes follow them
  int64_t align = 64;          // of the base, bytes
  int32_t alias_of = -1;       // another buffer that may be the same memory
  bool read_only = false;      // never written while the kernel runs: loads may move
};

struct Inst {
  Opcode op = Opcode::constant;
  Type type;  // of the (first) result; of the stored value for stores
  SmallVector<V, 3> operands;
  SmallVector<V, 1> results;
  int64_t imm = 0;     // constant bits, predicate, lane, buffer, step or function
  int64_t offset = 0;  // memory: added to the index
  SmallVector<BlockId, 2> blocks;
  std::vector<int16_t> list;  // shuffle lanes, tiles
};

struct Block {
  BlockId parent = 0;  // block that holds the instruction that holds this block
  uint32_t depth = 0;
  bool guarded = false;  // may not run (if, while, for of unknown trips): loads stay in it
  bool keeps = false;    // so does what else the block around it could hold
  SmallVector<V, 2> args;
  std::vector<InstId> insts;
  SmallVector<V, 2> yields;
};

// Code that a kernel has once, wherever it is used: its body's arguments and one yield, and no
// value or memory from outside. Functions of one name are equal, also those of several kernels.
struct Function {
  std::string name;
  BlockId body = 0;  // its own parent
};

struct ValueInfo {
  Type type;
  BlockId block = 0;  // where it is defined
  InstId def = 0xffffffffu;  // none: a block's argument, or begin/end of the kernel
};

struct Kernel {
  std::string name;
  std::vector<Buffer> buffers;
  std::vector<Function> functions;  // each uses only those before it
  int32_t params = 0;
  int64_t scratch_bytes = 0;  // for each concurrent call
  int64_t tasks = 1;          // the whole range is [0, tasks)
  double cost = 0;            // estimated nanoseconds on one core for all tasks
  std::vector<Inst> insts;
  std::vector<Block> blocks;  // blocks[0] is the body; its args are begin and end (i64)
  std::vector<ValueInfo> values;

  const Inst* def(V v) const {
    InstId id = values[v.index].def;
    return id == 0xffffffffu ? nullptr : &insts[id];
  }
  Type type(V v) const { return values[v.index].type; }
};

// Whether a `for` from lo to hi is known to run.
bool runsAtLeastOnce(const Kernel& kernel, V lo, V hi);

}  // namespace tercel::kernel
