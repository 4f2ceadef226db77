#include "compiler/kernel/verifier.h"

#include <algorithm>

#include "compiler/kernel/inst_rules.h"
#include "compiler/kernel/text.h"

namespace tercel::kernel {
namespace {

constexpr InstId kNoInst = 0xffffffffu;

class Verifier {
 public:
  explicit Verifier(const Kernel& kernel)
      : kernel_(kernel),
        visible_(kernel.values.size()),
        block_seen_(kernel.blocks.size()),
        inst_seen_(kernel.insts.size()) {}

  Status verify() {
    TERCEL_TRY(checkBuffers());
    if (kernel_.blocks.empty()) return wrong("there is no body");
    const Block& body = kernel_.blocks[0];
    if (!body.yields.empty()) return wrong("the body yields something");
    for (; functions_ < kernel_.functions.size(); ++functions_)
      TERCEL_TRY(checkFunction(kernel_.functions[functions_]));
    in_function_ = false;
    TERCEL_TRY(checkArguments(0, std::vector<Type>(2, Type{Scalar::i64, 1})));
    return checkBlock(0);
  }

 private:
  template <class... Args>
  Status wrong(const Args&... args) const {
    return internalError("kernel ", kernel_.name, ": ", cat(args...));
  }
  template <class... Args>
  Status wrongInst(InstId inst, const Args&... args) const {
    return wrong("`", printInst(kernel_, inst), "`: ", cat(args...));
  }

  Status checkBuffers() const {
    for (size_t i = 0; i < kernel_.buffers.size(); ++i) {
      const Buffer& b = kernel_.buffers[i];
      if (b.param >= kernel_.params) return wrong("buffer #", i, " of no parameter");
      bool inside = b.scratch_offset >= 0 && b.scratch_offset <= kernel_.scratch_bytes;
      if (b.param < 0 && !inside) return wrong("buffer #", i, " lies outside the scratch memory");
      if (b.align < 1 || (b.align & (b.align - 1))) return wrong("alignment of buffer #", i);
      if (b.alias_of >= static_cast<int32_t>(i))
        return wrong("buffer #", i, " aliases a later one");
    }
    return {};
  }

  Status checkFunction(const Function& f) {
    bool outermost = f.body > 0 && f.body < kernel_.blocks.size() &&
                     kernel_.blocks[f.body].parent == f.body && kernel_.blocks[f.body].depth == 0;
    if (!outermost) return wrong("@", f.name, " has no body of its own");
    const Block& body = kernel_.blocks[f.body];
    if (body.args.empty() || body.yields.size() != 1)
      return wrong("@", f.name, " has no arguments, or does not yield one value");
    std::vector<Type> types;
    for (V v : body.args) types.push_back(exists(v) ? kernel_.type(v) : Type{});
    TERCEL_TRY(checkArguments(f.body, types));
    return checkBlock(f.body);
  }

  bool exists(V v) const { return v.index < kernel_.values.size(); }

  Status define(V v, BlockId block, InstId def, Type type) {
    if (!exists(v)) return wrong("a value that does not exist is defined");
    const ValueInfo& info = kernel_.values[v.index];
    if (info.block != block || info.def != def)
      return wrong("%", v.index, " is recorded as defined elsewhere");
    if (info.type != type)
      return wrong("%", v.index, " is recorded as ", toString(info.type), ", not ",
                   toString(type));
    if (visible_[v.index]) return wrong("%", v.index, " is defined twice");
    visible_[v.index] = true;
    return {};
  }

  template <class Types>
  Status checkArguments(BlockId id, const Types& types) {
    const Block& block = kernel_.blocks[id];
    if (block.args.size() != types.size())
      return wrong("block ", id, " has ", block.args.size(), " arguments, not ", types.size());
    for (size_t i = 0; i < types.size(); ++i)
      TERCEL_TRY(define(block.args[i], id, kNoInst, types[i]));
    return {};
  }

  template <class Types>
  Status checkYields(InstId inst, BlockId id, const Types& types) const {
    const Block& block = kernel_.blocks[id];
    bool same = block.yields.size() == types.size();
    for (size_t i = 0; same && i < types.size(); ++i)
      same = kernel_.type(block.yields[i]) == types[i];
    if (!same) return wrongInst(inst, "a block of it yields values of other types or number");
    return {};
  }

  // Checks the instructions; what they define is visible until the block ends.
  Status checkBlock(BlockId id) {
    if (block_seen_[id]) return wrong("block ", id, " belongs to two instructions");
    block_seen_[id] = true;
    const Block& block = kernel_.blocks[id];
    for (InstId inst : block.insts) {
      if (inst >= kernel_.insts.size()) return wrong("an instruction that does not exist");
      if (inst_seen_[inst]) return wrongInst(inst, "is in two places");
      inst_seen_[inst] = true;
      TERCEL_TRY(checkInstruction(inst, id));
    }
    for (V v : block.yields)
      if (!exists(v) || !visible_[v.index]) return wrong("block ", id, " yields what is not there");
    leave(id);
    return {};
  }

  void leave(BlockId id) {
    const Block& block = kernel_.blocks[id];
    for (V v : block.args) visible_[v.index] = false;
    for (InstId inst : block.insts)
      for (V v : kernel_.insts[inst].results) visible_[v.index] = false;
  }

  Status checkInstruction(InstId id, BlockId block) {
    const Inst& inst = kernel_.insts[id];
    int count = opcodeOperands(inst.op);
    if (count >= 0 && static_cast<int>(inst.operands.size()) != count)
      return wrongInst(id, count, " operands wanted");
    for (V v : inst.operands)
      if (!exists(v) || !visible_[v.index])
        return wrongInst(id, "%", v.index, " is not defined here");
    if (instClass(inst.op) == InstClass::control) return checkControl(id, block);
    if (!inst.blocks.empty()) return wrongInst(id, "holds blocks");
    if (instClass(inst.op) == InstClass::memory &&
        (inst.imm < 0 || inst.imm >= static_cast<int64_t>(kernel_.buffers.size())))
      return wrongInst(id, "there is no such buffer");
    if (instClass(inst.op) == InstClass::memory && in_function_)
      return wrongInst(id, "memory in a function");
    if (instClass(inst.op) == InstClass::state && in_function_)
      return wrongInst(id, "the machine's state in a function");
    if (inst.op == Opcode::rarely &&
        (inst.imm < 0 || static_cast<size_t>(inst.imm) >= functions_ || inst.operands.empty()))
      return wrongInst(id, "there is no such function before it");
    if (std::string problem = checkInst(kernel_, inst); !problem.empty())
      return wrongInst(id, problem);
    if (inst.results.size() != (hasResult(inst.op) ? 1 : 0))
      return wrongInst(id, "wrong number of results");
    return inst.results.empty() ? Status() : define(inst.results[0], block, id, inst.type);
  }

  using Types = SmallVector<Type, 8>;

  Types typesOf(std::span<const V> values) const {
    Types types;
    for (V v : values) types.push_back(kernel_.type(v));
    return types;
  }

  Status checkControl(InstId id, BlockId block) {
    const Inst& inst = kernel_.insts[id];
    size_t blocks = inst.op == Opcode::for_ ? 1 : 2;
    if (inst.blocks.size() != blocks) return wrongInst(id, "wrong number of blocks");
    for (BlockId b : inst.blocks) {
      if (b >= kernel_.blocks.size() || b == 0) return wrongInst(id, "a block is missing");
      if (kernel_.blocks[b].parent != block ||
          kernel_.blocks[b].depth != kernel_.blocks[block].depth + 1)
        return wrongInst(id, "a block of it is recorded as nested elsewhere");
    }
    Types results;
    switch (inst.op) {
      case Opcode::for_: TERCEL_TRY(checkFor(id, results)); break;
      case Opcode::while_: TERCEL_TRY(checkWhile(id, results)); break;
      default: TERCEL_TRY(checkIf(id, results));
    }
    if (inst.results.size() != results.size()) return wrongInst(id, "wrong number of results");
    for (size_t i = 0; i < results.size(); ++i)
      TERCEL_TRY(define(inst.results[i], block, id, results[i]));
    return {};
  }

  Status checkFor(InstId id, Types& results) {
    const Inst& inst = kernel_.insts[id];
    constexpr Type kIndex{Scalar::i64, 1};
    if (inst.operands.size() < 2 || kernel_.type(inst.operands[0]) != kIndex ||
        kernel_.type(inst.operands[1]) != kIndex)
      return wrongInst(id, "the bounds are two i64");
    if (inst.imm <= 0) return wrongInst(id, "the step is not positive");
    results = typesOf(std::span<const V>(inst.operands).subspan(2));
    Types args{kIndex};
    for (Type t : results) args.push_back(t);
    TERCEL_TRY(checkArguments(inst.blocks[0], args));
    TERCEL_TRY(checkBlock(inst.blocks[0]));
    return checkYields(id, inst.blocks[0], results);
  }

  Status checkWhile(InstId id, Types& results) {
    const Inst& inst = kernel_.insts[id];
    results = typesOf(inst.operands);
    for (BlockId b : inst.blocks) {
      TERCEL_TRY(checkArguments(b, results));
      TERCEL_TRY(checkBlock(b));
    }
    TERCEL_TRY(checkYields(id, inst.blocks[0], Types{Type{Scalar::i1, 1}}));
    return checkYields(id, inst.blocks[1], results);
  }

  Status checkIf(InstId id, Types& results) {
    const Inst& inst = kernel_.insts[id];
    if (kernel_.type(inst.operands[0]) != Type{Scalar::i1, 1})
      return wrongInst(id, "the condition is one i1");
    for (BlockId b : inst.blocks) {
      TERCEL_TRY(checkArguments(b, Types{}));
      TERCEL_TRY(checkBlock(b));
    }
    results = typesOf(kernel_.blocks[inst.blocks[0]].yields);
    return checkYields(id, inst.blocks[1], results);
  }

  const Kernel& kernel_;
  std::vector<bool> visible_;
  std::vector<bool> block_seen_, inst_seen_;
  size_t functions_ = 0;  // checked so far
  bool in_function_ = true;
};

}  // namespace

Status verify(const Kernel& kernel) { return Verifier(kernel).verify(); }

}  // namespace tercel::kernel
