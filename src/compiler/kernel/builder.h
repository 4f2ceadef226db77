// Builds a Kernel. Pure instructions are folded, shared within their scope, and placed in the
// outermost block where their operands exist: loop-invariant code never enters a loop. Loads of
// read-only buffers are shared and moved likewise, but not out of a block that may not run (codegen
// moves them in front of such a loop, behind the test whether it runs).
#pragma once
#include <optional>
#include <functional>
#include <map>
#include <set>
#include <span>
#include <unordered_map>
#include <utility>

#include "compiler/kernel/kernel.h"
#include "compiler/kernel/machine.h"

namespace tercel::kernel {

// Of elements of a buffer: `first` and `offset` of all lanes, and what each lane adds to it, of i32
// or i64.
struct Places {
  V first, lanes;
  int64_t offset = 0;
  Places next() const { return {first, lanes, offset + 1}; }
};

class Builder {
 public:
  explicit Builder(Kernel& kernel);

  Machine machine;

  Kernel& kernel() { return kernel_; }
  Type type(V v) const { return kernel_.type(v); }
  V taskBegin() const { return kernel_.blocks[0].args[0]; }
  V taskEnd() const { return kernel_.blocks[0].args[1]; }

  // Of so many elements, where that is known.
  BufferId addParam(Scalar element, bool read_only, int64_t elements = 0);
  BufferId addScratch(Scalar element, int64_t elements);
  // Of complex numbers: their real parts; the imaginary ones have a buffer of their own. In params
  // they lie in pairs.
  BufferId addComplexScratch(Scalar part, int64_t elements);
  std::optional<BufferId> imaginaryOf(BufferId buffer) const;
  // Before anything is stored there: what the last vector has beyond the elements
  // becomes 0. What else lies there may be subnormal, and whole ones are multiplied.
  void clearSlack(BufferId scratch);

  // A value of no instruction, for planning without running: never lower a kernel that has one.
  V opaque(Type type) { return addValue(type, 0, 0xffffffffu); }
  V constant(Type type, uint64_t bits);
  V index(int64_t value) { return constant({Scalar::i64, 1}, static_cast<uint64_t>(value)); }
  V integer(Type type, int64_t value);
  V number(Type type, double value);  // rounded to the type
  bool isConstant(V v, uint64_t* bits = nullptr) const;
  // Whether an i64 is known to be one, from how it is made.
  bool isMultiple(V v, int64_t of) const;
  // Blocks around what is emitted now, and whether v is known outside of the innermost ones, or
  // could be: loads of unchanging memory, and what is made of them, stay where they may not run.
  uint32_t depth() const { return kernel_.blocks[current_].depth; }
  bool isFromOutside(V v, uint32_t blocks = 1, int insts = 5) const;
  // Whether it is known that no lane is 0: constants, and `x == 0 ? constant : x`.
  bool isNonZero(V v) const;
  // How many lanes a mask has that is made of the first ones by their numbers; else nothing.
  std::optional<int64_t> firstLanesOf(V mask) const;
  // Whether it is known that f16 or bf16 has every number of v, an f32: what was rounded to it, and
  // signs and choices of that. Only of the last few instructions.
  bool isOfPrecision(V v, Scalar narrow, int depth = 4) const;
  // Says that v, an f32, is such a number of f16.
  void noteHalf(V v);

  V splat(V scalar, int lanes);
  // v itself where it has `lanes` lanes already.
  V widen(V v, int lanes) { return type(v).lanes == lanes ? v : splat(v, lanes); }
  V laneIds(Type type);
  V extract(V v, int lane);
  V shuffle(V a, V b, std::span<const int16_t> lanes);

  V unary(Opcode op, V a) { return pure(op, type(a), {a}); }
  V binary(Opcode op, V a, V b);  // a scalar operand beside a vector one is splat
  V ternary(Opcode op, V a, V b, V c);
  V lookUp(V index, std::span<const V> tables);  // of one, two or more vectors one after another
  V fma(V a, V b, V c);
  V fmuladd(V a, V b, V c);
  V compare(Opcode op, Predicate predicate, V a, V b);
  V cast(Opcode op, V a, Scalar to);
  V bitcast(V a, Type to);  // between integers, of any lanes
  V select(V condition, V a, V b);
  V any(V mask);  // in any lane that is alive
  // `body`, whose values are of use in the lanes of `mask` alone (invalid: in all).
  template <class F>
  auto whereAlive(V mask, F&& body) {
    struct Restore {
      V &alive, before;
      ~Restore() { alive = before; }
    } restore{alive_, std::exchange(alive_, mask)};
    return body();
  }

  // The function of this name; `body` makes what it yields where the kernel has none yet.
  FunctionId function(const std::string& name, std::span<const Type> args,
                      const std::function<V(std::span<const V>)>& body);
  V rarely(V condition, FunctionId function, std::span<const V> args);
  int rareCalls() const { return rare_calls_; }  // so far

  V iadd(V a, V b) { return binary(Opcode::iadd, a, b); }
  V isub(V a, V b) { return binary(Opcode::isub, a, b); }
  V imul(V a, V b) { return binary(Opcode::imul, a, b); }
  V fadd(V a, V b) { return binary(Opcode::fadd, a, b); }
  V fmul(V a, V b) { return binary(Opcode::fmul, a, b); }

  V load(BufferId buffer, V index, int lanes, int64_t offset = 0);
  V loadMasked(BufferId buffer, V index, V mask, int64_t offset = 0);
  V gather(BufferId buffer, const Places& places, V mask);
  void store(BufferId buffer, V index, V value, int64_t offset = 0);
  void storeMasked(BufferId buffer, V index, V value, V mask, int64_t offset = 0);
  void storeStreaming(BufferId buffer, V index, V value, int64_t offset = 0);
  void scatter(BufferId buffer, const Places& places, V value, V mask);
  // What `emit` emits but for the stores among it, which are to be appended where they belong.
  std::vector<InstId> withoutStores(const std::function<void()>& emit);
  void append(std::span<const InstId> insts);
  // With each vector that `body` loads from an array beyond the near caches, what lies so many
  // elements behind it is fetched: while it computes, the machine itself follows no stream far. 0:
  // nothing is.
  template <class Body>
  auto fetchingAhead(int64_t elements, Body&& body) {
    struct Scope {
      int64_t& ahead;
      ~Scope() { ahead = 0; }
    } scope{ahead_ = elements};
    return body();
  }

  // Whether arithmetic met subnormal numbers, of which microcode makes more, since it forgot them.
  V metSubnormals();
  void forgetSubnormals();  // if it met any

  // The machine's tiles.
  void tiles(Opcode op, std::initializer_list<int16_t> numbers = {});
  void tileLoad(int16_t tile, BufferId buffer, V index, int64_t pitch, int64_t offset = 0);
  void tileStore(int16_t tile, BufferId buffer, V index, int64_t pitch, int64_t offset = 0);

  using Values = SmallVector<V, 4>;
  void setInlineTrips(int64_t trips) { inline_trips_ = trips; }
  // Emits `for (i = lo; i < hi; i += step)`; `body` gets i and the carried values and returns their
  // next ones. Returns the last ones. A loop of at most so many known trips becomes as many
  // copies of its body.
  Values forLoop(V lo, V hi, int64_t step, std::span<const V> carried,
                 const std::function<Values(V, std::span<const V>)>& body);
  void forLoop(V lo, V hi, int64_t step, const std::function<void(V)>& body);
  Values whileLoop(std::span<const V> carried,
                   const std::function<V(std::span<const V>)>& condition,
                   const std::function<Values(std::span<const V>)>& body);
  // keeps: what is computed in a body stays there, but for what does not change in the loop around.
  Values ifElse(V condition, const std::function<Values()>& then_body,
                const std::function<Values()>& else_body, bool keeps = false);
  void ifThen(V condition, const std::function<void()>& body);

  V pure(Opcode op, Type type, std::initializer_list<V> operands, int64_t imm = 0);

 private:
  bool staysInScratch(BufferId buffer, V index, int lanes, int64_t offset) const;
  bool endsInSlack(BufferId buffer, V index, V mask, int64_t offset) const;
  V loadFirst(BufferId buffer, V index, V mask, int64_t count, int64_t offset);
  void prefetch(const Inst& load, BlockId block);
  Values inlineTrips(int64_t lo, int64_t hi, int64_t step, std::span<const V> carried,
                     const std::function<Values(V, std::span<const V>)>& body);
  void moveTile(Opcode op, int16_t tile, BufferId buffer, V index, int64_t pitch, int64_t offset);
  V emit(Inst inst, BlockId block);
  V share(Inst inst);  // an equal earlier instruction's value, or a new one in its home block
  V findShared(const Inst& inst, uint64_t hash, BlockId block) const;
  V fold(const Inst& inst);
  V foldNumbers(const Inst& inst);
  V stricterOf(const Inst& both) const;
  BlockId home(const Inst& inst) const;
  void addArguments(BlockId block, std::span<const Type> args);
  BlockId openBlock(std::span<const Type> args, bool guarded);
  void closeBlock(std::span<const V> yields);
  Values finishControl(Inst inst, std::span<const Type> result_types);
  V addValue(Type type, BlockId block, InstId def);

  V comparedInLanes(V flag, int lanes, Scalar chosen);

  // builder_half.cc: vectors of f32 as f16, where they hold such numbers, and what is rounded to it,
  // where f16 arithmetic gives that; else none.
  static constexpr int kFewestHalves = 8;
  static bool isHalfNumber(uint64_t bits);
  V asHalf(V v);
  V roundedToHalf(V v);

  Kernel& kernel_;
  std::map<BufferId, BufferId> imaginary_;  // by the buffer of the real parts
  // What comes from beyond the near caches, of which no whole vector was read so far: those would
  // have called for what lies behind them.
  std::set<BufferId> far_in_parts_;
  std::set<BufferId> far_;
  int64_t ahead_ = 0;
  std::set<uint32_t> halves_;  // what noteHalf was told
  BlockId current_ = 0;
  BlockId root_ = 0;  // the outermost block around it: the kernel's body or a function's
  int rare_calls_ = 0;
  V alive_;  // the lanes that are, or invalid: all
  int64_t inline_trips_ = 1;
  std::unordered_multimap<uint64_t, InstId> shared_;
};

}  // namespace tercel::kernel
