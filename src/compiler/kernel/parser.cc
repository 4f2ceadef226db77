#include "compiler/kernel/text.h"
#include "compiler/kernel/text_reader.h"

namespace tercel::kernel {
namespace {

constexpr int kMaxDepth = 100;
constexpr int kPredicateCount = static_cast<int>(Predicate::fuge) + 1;
constexpr int kOpcodes = 0
#define INST(name, operands, cls) +1
#include "compiler/kernel/insts.def"
    ;

class Parser : TextReader {
 public:
  explicit Parser(std::string_view text) : TextReader(text) {}

  Result<Kernel> parse() {
    TERCEL_TRY(scan_.expectWord("kernel"));
    TERCEL_TRY(scan_.expect("@"));
    TERCEL_ASSIGN(kernel_.name, scan_.wordOrQuoted());
    kernel_.blocks.emplace_back();
    TERCEL_TRY(scan_.expect("("));
    for (int i = 0; i < 2; ++i) {
      if (i) TERCEL_TRY(scan_.expect(","));
      TERCEL_TRY(argument(0, {Scalar::i64, 1}));
    }
    TERCEL_TRY(scan_.expect(")"));
    TERCEL_TRY(scan_.expect("{"));
    TERCEL_TRY(header());
    while (scan_.peek() == '#') TERCEL_TRY(buffer());
    while (scan_.acceptWord("function")) TERCEL_TRY(function());
    TERCEL_TRY(block(0));
    if (!scan_.atEnd()) return scan_.errorHere("expected the end of the text");
    return std::move(kernel_);
  }

 private:
  Status function() {
    TERCEL_TRY(scan_.expect("@"));
    Function f;
    TERCEL_ASSIGN(f.name, scan_.wordOrQuoted());
    if (findFunction(f.name).ok()) return scan_.errorAtLast("@", f.name, " is defined twice");
    f.body = static_cast<BlockId>(kernel_.blocks.size());
    kernel_.blocks.push_back({.parent = f.body});
    TERCEL_TRY(scan_.expect("("));
    do {
      TERCEL_ASSIGN(std::string_view name, scan_.valueName());
      TERCEL_TRY(scan_.expect(":"));
      TERCEL_ASSIGN(Type t, type());
      TERCEL_TRY(argument(name, f.body, t));
    } while (scan_.accept(","));
    TERCEL_TRY(scan_.expect(")"));
    TERCEL_TRY(scan_.expect("{"));
    TERCEL_TRY(block(f.body));
    kernel_.functions.push_back(std::move(f));
    return {};
  }

  // Up to and with the closing brace.
  Status block(BlockId id) {
    if (kernel_.blocks[id].depth > kMaxDepth) return scan_.errorHere("blocks nest too deeply");
    while (!scan_.accept("}")) {
      if (scan_.acceptWord("yield")) {
        do {
          TERCEL_ASSIGN(V v, use());
          kernel_.blocks[id].yields.push_back(v);
        } while (scan_.accept(","));
        TERCEL_TRY(scan_.expect("}"));
        return {};
      }
      TERCEL_TRY(statement(id));
    }
    return {};
  }

  Status statement(BlockId block) {
    std::vector<std::string> results;
    if (scan_.peek() == '%') {
      do {
        TERCEL_ASSIGN(std::string_view name, scan_.valueName());
        results.emplace_back(name);
      } while (scan_.accept(","));
      TERCEL_TRY(scan_.expect("="));
    }
    TERCEL_ASSIGN(std::string_view name, scan_.word());
    auto op = findNamed<Opcode>(name, kOpcodes, opcodeName);
    if (!op.ok()) return scan_.errorAtLast("there is no instruction ", name);
    Inst inst{.op = *op};
    SmallVector<Type, 4> types;
    TERCEL_TRY(body(inst, block, types));
    if (results.size() != types.size())
      return scan_.errorAtLast(name, " has ", types.size(), " results, not ", results.size());
    auto id = static_cast<InstId>(kernel_.insts.size());
    for (size_t i = 0; i < types.size(); ++i) {
      inst.results.push_back(newValue(types[i], block, id));
      TERCEL_TRY(define(results[i], inst.results[i]));
    }
    kernel_.insts.push_back(std::move(inst));
    kernel_.blocks[block].insts.push_back(id);
    return {};
  }

  // What follows the name; `types` gets the results' types.
  Status body(Inst& inst, BlockId block, SmallVector<Type, 4>& types) {
    switch (inst.op) {
      case Opcode::for_: return forLoop(inst, block, types);
      case Opcode::while_: return whileLoop(inst, block, types);
      case Opcode::if_: return ifElse(inst, block, types);
      default: break;
    }
    if (instClass(inst.op) == InstClass::memory) TERCEL_TRY(memory(inst));
    if (instClass(inst.op) == InstClass::pure) TERCEL_TRY(pure(inst));
    if (opcodeTiles(inst.op)) TERCEL_TRY(list(inst, 0, INT16_MAX));
    const bool is_state = instClass(inst.op) == InstClass::state;
    if (inst.op == Opcode::prefetch || (is_state && !hasResult(inst.op))) return {};
    TERCEL_TRY(scan_.expect(":"));
    TERCEL_ASSIGN(inst.type, type());
    if (inst.op == Opcode::constant) {
      TERCEL_ASSIGN(inst.imm, readConstant(constant_, inst.type.scalar));
    }
    if (hasResult(inst.op)) types.push_back(inst.type);
    return {};
  }

  Status pure(Inst& inst) {
    if (inst.op == Opcode::constant) {
      constant_ = scan_.element();
      return {};
    }
    if (inst.op == Opcode::icmp || inst.op == Opcode::fcmp) {
      TERCEL_ASSIGN(std::string_view name, scan_.word());
      auto predicate = findNamed<Predicate>(name, kPredicateCount, predicateName);
      if (!predicate.ok()) return scan_.errorAtLast("there is no predicate ", name);
      inst.imm = static_cast<int64_t>(*predicate);
    }
    if (inst.op == Opcode::rarely) return rarely(inst);
    TERCEL_TRY(operands(inst));
    if (inst.op == Opcode::extract) {
      TERCEL_TRY(scan_.expect(","));
      TERCEL_TRY(integerInto(inst.imm));
    }
    return inst.op == Opcode::shuffle ? list(inst, -1, 2 * kMaxLanes - 1) : Status();
  }

  Status operands(Inst& inst) {
    for (int i = 0; i < opcodeOperands(inst.op); ++i) {
      if (i) TERCEL_TRY(scan_.expect(","));
      TERCEL_ASSIGN(V v, use());
      inst.operands.push_back(v);
    }
    return {};
  }

  Status rarely(Inst& inst) {
    TERCEL_ASSIGN(V condition, use());
    inst.operands.push_back(condition);
    TERCEL_TRY(scan_.expect("@"));
    TERCEL_ASSIGN(std::string name, scan_.wordOrQuoted());
    TERCEL_ASSIGN(inst.imm, findFunction(name));
    TERCEL_TRY(scan_.expect("("));
    do {
      TERCEL_ASSIGN(V v, use());
      inst.operands.push_back(v);
    } while (scan_.accept(","));
    return scan_.expect(")");
  }

  Status list(Inst& inst, int64_t least, int64_t most) {
    TERCEL_TRY(scan_.expect("["));
    do {
      TERCEL_ASSIGN(int64_t number, scan_.integer());
      if (number < least || number > most) return scan_.errorAtLast(number, " is out of range");
      inst.list.push_back(static_cast<int16_t>(number));
    } while (scan_.accept(","));
    return scan_.expect("]");
  }

  Status memory(Inst& inst) {
    TERCEL_ASSIGN(BufferId buffer, bufferName());
    inst.imm = buffer;
    TERCEL_TRY(scan_.expect("["));
    TERCEL_ASSIGN(V index, use());
    inst.operands.push_back(index);
    bool minus = false;
    if (scan_.accept("+") || (minus = scan_.accept("-"))) {
      std::string_view digits = scan_.element();
      TERCEL_ASSIGN(inst.offset, number<int64_t>(minus ? cat('-', digits) : std::string(digits)));
    }
    TERCEL_TRY(scan_.expect("]"));
    for (int i = 1; i < opcodeOperands(inst.op); ++i) {
      TERCEL_TRY(scan_.expect(","));
      TERCEL_ASSIGN(V v, use());
      inst.operands.push_back(v);
    }
    return {};
  }

  // `(%a = %x, ...)`: arguments of `block` and the values they begin with.
  Status carried(Inst& inst, BlockId block, SmallVector<Type, 4>& types) {
    TERCEL_TRY(scan_.expect("("));
    while (!scan_.accept(")")) {
      TERCEL_ASSIGN(std::string_view name, scan_.valueName());
      TERCEL_TRY(scan_.expect("="));
      TERCEL_ASSIGN(V init, use());
      inst.operands.push_back(init);
      types.push_back(kernel_.type(init));
      V arg = newValue(kernel_.type(init), block, kNoInst);
      kernel_.blocks[block].args.push_back(arg);
      TERCEL_TRY(define(name, arg));
      if (scan_.peek() != ')') TERCEL_TRY(scan_.expect(","));
    }
    return {};
  }

  Status nested(Inst& inst, BlockId id) {
    inst.blocks.push_back(id);
    TERCEL_TRY(scan_.expect("{"));
    return block(id);
  }

  Status forLoop(Inst& inst, BlockId parent, SmallVector<Type, 4>& types) {
    BlockId body = newBlock(parent, true);
    TERCEL_TRY(argument(body, {Scalar::i64, 1}));
    TERCEL_TRY(scan_.expect("="));
    TERCEL_ASSIGN(V lo, use());
    TERCEL_TRY(scan_.expectWord("to"));
    TERCEL_ASSIGN(V hi, use());
    inst.operands = {lo, hi};
    kernel_.blocks[body].guarded = !runsAtLeastOnce(kernel_, lo, hi);
    TERCEL_TRY(scan_.expectWord("step"));
    TERCEL_TRY(integerInto(inst.imm));
    if (scan_.peek() == '(') TERCEL_TRY(carried(inst, body, types));
    return nested(inst, body);
  }

  Status whileLoop(Inst& inst, BlockId parent, SmallVector<Type, 4>& types) {
    BlockId condition = newBlock(parent, true);
    TERCEL_TRY(carried(inst, condition, types));
    TERCEL_TRY(nested(inst, condition));
    TERCEL_TRY(scan_.expectWord("do"));
    BlockId body = newBlock(parent, true);
    TERCEL_TRY(scan_.expect("("));
    for (size_t i = 0; i < types.size(); ++i) {
      if (i) TERCEL_TRY(scan_.expect(","));
      TERCEL_TRY(argument(body, types[i]));
    }
    TERCEL_TRY(scan_.expect(")"));
    return nested(inst, body);
  }

  Status ifElse(Inst& inst, BlockId parent, SmallVector<Type, 4>& types) {
    inst.imm = scan_.acceptWord("seldom");
    TERCEL_ASSIGN(V condition, use());
    inst.operands.push_back(condition);
    BlockId then_block = newBlock(parent, true);
    TERCEL_TRY(nested(inst, then_block));
    BlockId else_block = newBlock(parent, true);
    if (scan_.acceptWord("else")) TERCEL_TRY(nested(inst, else_block));
    else inst.blocks.push_back(else_block);
    for (V v : kernel_.blocks[then_block].yields) types.push_back(kernel_.type(v));
    return {};
  }

  std::string_view constant_;  // of the constant being read; its type comes later
};

}  // namespace

Result<Kernel> parse(std::string_view text) { return Parser(text).parse(); }

}  // namespace tercel::kernel
