#include <bit>
#include <charconv>
#include <unordered_map>

#include "compiler/ir/scanner.h"
#include "compiler/kernel/text.h"

namespace tercel::kernel {
namespace {

constexpr int kMaxDepth = 100;
constexpr int64_t kMaxLanes = 1024;
constexpr InstId kNoInst = 0xffffffffu;

template <class T>
Result<T> findNamed(std::string_view name, int count, std::string_view (*nameOf)(T)) {
  for (int i = 0; i < count; ++i)
    if (nameOf(static_cast<T>(i)) == name) return static_cast<T>(i);
  return invalidArgument("'", name, "' is unknown");
}

constexpr int kPredicates = static_cast<int>(Predicate::fuge) + 1;
constexpr int kScalars = static_cast<int>(Scalar::f64) + 1;
constexpr int kOpcodes = 0
#define INST(name, operands, cls) +1
#include "compiler/kernel/insts.def"
    ;

class Parser {
 public:
  explicit Parser(std::string_view text) : scan_(text) {}

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
    TERCEL_TRY(block(0));
    if (!scan_.atEnd()) return scan_.errorHere("expected the end of the text");
    return std::move(kernel_);
  }

 private:
  // `params = 3, tasks = 64} {`, if it is there: no instruction is called like that.
  Status header() {
    bool any = false;
    for (;; any = true) {
      int64_t* value = nullptr;
      int64_t params = 0;
      bool is_params = scan_.acceptWord("params"), is_cost = scan_.acceptWord("cost");
      if (is_params) value = &params;
      else if (scan_.acceptWord("scratch")) value = &kernel_.scratch_bytes;
      else if (scan_.acceptWord("tasks")) value = &kernel_.tasks;
      else if (!is_cost) break;
      TERCEL_TRY(scan_.expect("="));
      if (is_cost) {
        TERCEL_ASSIGN(kernel_.cost, number<double>(scan_.element()));
      }
      if (value) TERCEL_TRY(integerInto(*value));
      if (is_params) kernel_.params = static_cast<int32_t>(params);
      scan_.accept(",");
    }
    if (!any) return {};
    TERCEL_TRY(scan_.expect("}"));
    return scan_.expect("{");
  }

  Status buffer() {
    TERCEL_TRY(scan_.expect("#"));
    TERCEL_ASSIGN(int64_t id, scan_.integer());
    if (id != static_cast<int64_t>(kernel_.buffers.size()))
      return scan_.errorAtLast("buffers are numbered from 0 up");
    TERCEL_TRY(scan_.expect("="));
    Buffer b;
    TERCEL_ASSIGN(b.element, scalar());
    if (scan_.acceptWord("param")) {
      TERCEL_ASSIGN(int64_t param, scan_.integer());
      b.param = static_cast<int32_t>(param);
    } else {
      TERCEL_TRY(scan_.expectWord("scratch"));
      TERCEL_ASSIGN(b.scratch_offset, scan_.integer());
      if (scan_.acceptWord("of")) TERCEL_TRY(integerInto(b.elements));
    }
    b.read_only = scan_.acceptWord("read_only");
    if (scan_.acceptWord("align")) TERCEL_TRY(integerInto(b.align));
    if (scan_.acceptWord("alias")) {
      TERCEL_ASSIGN(BufferId alias, bufferName());
      b.alias_of = static_cast<int32_t>(alias);
    }
    kernel_.buffers.push_back(b);
    return {};
  }

  Status integerInto(int64_t& value) {
    TERCEL_ASSIGN(value, scan_.integer());
    return {};
  }

  Result<BufferId> bufferName() {
    TERCEL_TRY(scan_.expect("#"));
    TERCEL_ASSIGN(int64_t id, scan_.integer());
    if (id < 0 || id >= static_cast<int64_t>(kernel_.buffers.size()))
      return scan_.errorAtLast("there is no buffer #", id);
    return static_cast<BufferId>(id);
  }

  Result<Scalar> scalar() {
    TERCEL_ASSIGN(Type t, type());
    if (t.isVector()) return scan_.errorAtLast("expected a scalar type");
    return t.scalar;
  }

  Result<Type> type() {
    TERCEL_ASSIGN(std::string_view text, scan_.word());
    size_t times = text.find('x');
    auto found = findNamed<Scalar>(text.substr(0, times), kScalars, scalarName);
    if (!found.ok()) return scan_.errorAtLast("there is no type ", text);
    int64_t lanes = 1;
    if (times != text.npos) {
      auto parsed = number<int64_t>(text.substr(times + 1));
      if (!parsed.ok() || *parsed < 2 || *parsed > kMaxLanes)
        return scan_.errorAtLast("there is no type ", text);
      lanes = *parsed;
    }
    return Type{*found, static_cast<uint16_t>(lanes)};
  }

  template <class Number>
  Result<Number> number(std::string_view text) {
    Number value{};
    auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || end != text.data() + text.size())
      return scan_.errorAtLast("'", text, "' is no number");
    return value;
  }

  Result<V> use() {
    TERCEL_ASSIGN(std::string_view name, scan_.valueName());
    auto found = names_.find(std::string(name));
    if (found == names_.end()) return scan_.errorAtLast("there is no value %", name);
    return found->second;
  }

  Status define(std::string_view name, V v) {
    if (!names_.emplace(name, v).second) return scan_.errorAtLast("%", name, " is defined twice");
    return {};
  }

  V newValue(Type t, BlockId block, InstId def) {
    kernel_.values.push_back({t, block, def});
    return {static_cast<uint32_t>(kernel_.values.size() - 1)};
  }

  Status argument(BlockId block, Type t) {
    TERCEL_ASSIGN(std::string_view name, scan_.valueName());
    V v = newValue(t, block, kNoInst);
    kernel_.blocks[block].args.push_back(v);
    return define(name, v);
  }

  BlockId newBlock(BlockId parent, bool guarded) {
    Block block{.parent = parent, .depth = kernel_.blocks[parent].depth + 1, .guarded = guarded};
    kernel_.blocks.push_back(std::move(block));
    return static_cast<BlockId>(kernel_.blocks.size() - 1);
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
    else TERCEL_TRY(pure(inst));
    if (inst.op == Opcode::prefetch) return {};
    TERCEL_TRY(scan_.expect(":"));
    TERCEL_ASSIGN(inst.type, type());
    if (inst.op == Opcode::constant) TERCEL_TRY(constantBits(inst));
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
      auto predicate = findNamed<Predicate>(name, kPredicates, predicateName);
      if (!predicate.ok()) return scan_.errorAtLast("there is no predicate ", name);
      inst.imm = static_cast<int64_t>(*predicate);
    }
    TERCEL_TRY(operands(inst));
    if (inst.op == Opcode::extract) {
      TERCEL_TRY(scan_.expect(","));
      TERCEL_TRY(integerInto(inst.imm));
    }
    return inst.op == Opcode::shuffle ? lanes(inst) : Status();
  }

  Status operands(Inst& inst) {
    for (int i = 0; i < opcodeOperands(inst.op); ++i) {
      if (i) TERCEL_TRY(scan_.expect(","));
      TERCEL_ASSIGN(V v, use());
      inst.operands.push_back(v);
    }
    return {};
  }

  Status lanes(Inst& inst) {
    TERCEL_TRY(scan_.expect("["));
    do {
      TERCEL_ASSIGN(int64_t lane, scan_.integer());
      if (lane < -1 || lane >= 2 * kMaxLanes) return scan_.errorAtLast("no lane ", lane);
      inst.list.push_back(static_cast<int16_t>(lane));
    } while (scan_.accept(","));
    return scan_.expect("]");
  }

  Status constantBits(Inst& inst) {
    Scalar s = inst.type.scalar;
    int width = bitWidth(s);
    uint64_t mask = width == 64 ? ~uint64_t{0} : (uint64_t{1} << width) - 1;
    uint64_t bits = 0;
    if (constant_.starts_with("0x")) {
      std::string_view digits = constant_.substr(2);
      auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), bits, 16);
      if (error != std::errc() || end != digits.data() + digits.size() || (bits & ~mask))
        return scan_.errorAtLast("'", constant_, "' is no constant of its type");
    } else if (s == Scalar::f64) {
      TERCEL_ASSIGN(double value, number<double>(constant_));
      bits = std::bit_cast<uint64_t>(value);
    } else if (isFloat(s)) {
      TERCEL_ASSIGN(float value, number<float>(constant_));
      bits = s == Scalar::f16    ? floatToHalf(value)
             : s == Scalar::bf16 ? floatToBFloat16(value)
                                 : std::bit_cast<uint32_t>(value);
    } else {
      TERCEL_ASSIGN(int64_t value, number<int64_t>(constant_));
      bits = static_cast<uint64_t>(value) & mask;
    }
    inst.imm = static_cast<int64_t>(bits);
    return {};
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

  ir::Scanner scan_;
  Kernel kernel_;
  std::unordered_map<std::string, V> names_;
  std::string_view constant_;  // of the constant being read; its type comes later
};

}  // namespace

Result<Kernel> parse(std::string_view text) { return Parser(text).parse(); }

}  // namespace tercel::kernel
