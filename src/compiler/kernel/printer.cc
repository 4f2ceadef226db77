#include <bit>
#include <charconv>
#include <cmath>

#include "compiler/ir/syntax.h"
#include "compiler/kernel/text.h"
#include "core/status.h"

namespace tercel::kernel {
namespace {

template <class Number>
std::string shortest(Number value) {
  char text[64];
  auto end = std::to_chars(text, text + sizeof text, value).ptr;
  return std::string(text, end);
}

std::string hexText(uint64_t bits) {
  char text[20];
  auto end = std::to_chars(text, text + sizeof text, bits, 16).ptr;
  return cat("0x", std::string_view(text, end));
}

std::string constantText(Scalar s, uint64_t bits) {
  if (!isFloat(s)) {
    if (s == Scalar::i1) return bits ? "1" : "0";
    int shift = 64 - bitWidth(s);
    return shortest(static_cast<int64_t>(bits << shift) >> shift);
  }
  double wide = std::bit_cast<double>(bits);
  if (s == Scalar::f64) return std::isfinite(wide) ? shortest(wide) : hexText(bits);
  float narrow = s == Scalar::f16    ? halfToFloat(static_cast<uint16_t>(bits))
                 : s == Scalar::bf16 ? std::bit_cast<float>(static_cast<uint32_t>(bits) << 16)
                                     : std::bit_cast<float>(static_cast<uint32_t>(bits));
  return std::isfinite(narrow) ? shortest(narrow) : hexText(bits);
}

class Printer {
 public:
  explicit Printer(const Kernel& kernel, bool renumber) : kernel_(kernel), renumber_(renumber) {}

  std::string print() {
    out_ = "kernel @";
    ir::appendWordOrQuoted(out_, kernel_.name);
    out_ += '(';
    values(kernel_.blocks[0].args);
    out_ += cat(") {params = ", kernel_.params, ", scratch = ", kernel_.scratch_bytes,
                ", tasks = ", kernel_.tasks, ", cost = ", shortest(kernel_.cost), "} {\n");
    for (size_t i = 0; i < kernel_.buffers.size(); ++i) buffer(i);
    for (const Function& f : kernel_.functions) function(f);
    block(0);
    return out_ + "}\n";
  }

  std::string line(const Inst& inst) {
    head(inst);
    if (instClass(inst.op) == InstClass::control) operands(inst, 0);
    else body(inst);
    return out_;
  }

 private:
  void buffer(size_t i) {
    const Buffer& b = kernel_.buffers[i];
    out_ += cat("  #", i, " = ", scalarName(b.element));
    out_ += b.param >= 0 ? cat(" param ", b.param) : cat(" scratch ", b.scratch_offset);
    if (b.elements) out_ += cat(" of ", b.elements);
    if (b.read_only) out_ += " read_only";
    if (b.align != Buffer{}.align) out_ += cat(" align ", b.align);
    if (b.alias_of >= 0) out_ += cat(" alias #", b.alias_of);
    out_ += '\n';
  }

  void function(const Function& f) {
    out_ += "  function @";
    ir::appendWordOrQuoted(out_, f.name);
    out_ += '(';
    std::span<const V> args = kernel_.blocks[f.body].args;
    for (size_t i = 0; i < args.size(); ++i) {
      if (i) out_ += ", ";
      value(args[i]);
      out_ += " : " + toString(kernel_.type(args[i]));
    }
    out_ += ") {\n";
    ++depth_;
    block(f.body);
    --depth_;
    out_ += "  }\n";
  }

  void value(V v) {
    out_ += '%';
    if (!v.valid() || v.index >= kernel_.values.size()) {
      out_ += "none";
    } else if (!renumber_) {
      out_ += std::to_string(v.index);
    } else {
      names_.resize(kernel_.values.size(), V::kNone);
      if (names_[v.index] == V::kNone) names_[v.index] = next_++;
      out_ += std::to_string(names_[v.index]);
    }
  }
  void values(std::span<const V> list) {
    for (size_t i = 0; i < list.size(); ++i) {
      if (i) out_ += ", ";
      value(list[i]);
    }
  }
  void operands(const Inst& inst, size_t first) {
    for (size_t i = first; i < inst.operands.size(); ++i) {
      out_ += i == first ? " " : ", ";
      value(inst.operands[i]);
    }
  }

  void indent() { out_.append(2 * depth_, ' '); }

  void block(BlockId id) {
    ++depth_;
    for (InstId inst : kernel_.blocks[id].insts) statement(kernel_.insts[inst]);
    if (!kernel_.blocks[id].yields.empty()) {
      indent();
      out_ += "yield ";
      values(kernel_.blocks[id].yields);
      out_ += '\n';
    }
    --depth_;
  }

  void head(const Inst& inst) {
    values(inst.results);
    if (!inst.results.empty()) out_ += " = ";
    out_ += opcodeName(inst.op);
  }

  void statement(const Inst& inst) {
    indent();
    head(inst);
    switch (inst.op) {
      case Opcode::for_: forLoop(inst); break;
      case Opcode::while_: whileLoop(inst); break;
      case Opcode::if_: ifElse(inst); break;
      default: body(inst);
    }
    out_ += '\n';
  }

  // Whatever follows the name of an instruction that holds no blocks.
  void body(const Inst& inst) {
    if (instClass(inst.op) == InstClass::memory) {
      memory(inst);
      if (inst.op == Opcode::prefetch) return;
      if (opcodeTiles(inst.op)) list(inst);
    } else if (instClass(inst.op) == InstClass::state) {
      if (opcodeTiles(inst.op)) list(inst);
      if (!hasResult(inst.op)) return;
    } else if (inst.op == Opcode::constant) {
      out_ += ' ' + constantText(inst.type.scalar, static_cast<uint64_t>(inst.imm));
    } else if (inst.op == Opcode::icmp || inst.op == Opcode::fcmp) {
      out_ += cat(' ', predicateName(static_cast<Predicate>(inst.imm)));
      operands(inst, 0);
    } else if (inst.op == Opcode::rarely) {
      rarely(inst);
    } else {
      operands(inst, 0);
      if (inst.op == Opcode::extract) out_ += cat(", ", inst.imm);
      if (inst.op == Opcode::shuffle) list(inst);
    }
    out_ += " : " + toString(inst.type);
  }

  void rarely(const Inst& inst) {
    out_ += ' ';
    value(inst.operands[0]);
    auto function = static_cast<size_t>(inst.imm);
    bool known = function < kernel_.functions.size();
    out_ += " @";
    ir::appendWordOrQuoted(out_, known ? kernel_.functions[function].name : "none");
    out_ += '(';
    values(std::span<const V>(inst.operands).subspan(1));
    out_ += ')';
  }

  void memory(const Inst& inst) {
    out_ += cat(" #", inst.imm, '[');
    value(inst.operands[0]);
    if (inst.offset > 0) out_ += cat(" + ", inst.offset);
    if (inst.offset < 0) out_ += cat(" - ", std::to_string(inst.offset).substr(1));
    out_ += ']';
    for (size_t i = 1; i < inst.operands.size(); ++i) {
      out_ += ", ";
      value(inst.operands[i]);
    }
  }

  void list(const Inst& inst) {
    out_ += " [";
    for (size_t i = 0; i < inst.list.size(); ++i) out_ += cat(i ? ", " : "", inst.list[i]);
    out_ += ']';
  }

  void carried(std::span<const V> args, std::span<const V> inits) {
    out_ += " (";
    for (size_t i = 0; i < args.size(); ++i) {
      if (i) out_ += ", ";
      value(args[i]);
      out_ += " = ";
      value(inits[i]);
    }
    out_ += ')';
  }

  void nested(BlockId id) {
    out_ += " {\n";
    block(id);
    indent();
    out_ += '}';
  }

  void forLoop(const Inst& inst) {
    std::span<const V> args = kernel_.blocks[inst.blocks[0]].args;
    std::span<const V> inputs = inst.operands;
    out_ += ' ';
    value(args[0]);
    out_ += " = ";
    value(inputs[0]);
    out_ += " to ";
    value(inputs[1]);
    out_ += cat(" step ", inst.imm);
    if (args.size() > 1) carried(args.subspan(1), inputs.subspan(2));
    nested(inst.blocks[0]);
  }

  void whileLoop(const Inst& inst) {
    carried(kernel_.blocks[inst.blocks[0]].args, inst.operands);
    nested(inst.blocks[0]);
    out_ += " do (";
    values(kernel_.blocks[inst.blocks[1]].args);
    out_ += ')';
    nested(inst.blocks[1]);
  }

  void ifElse(const Inst& inst) {
    if (inst.imm) out_ += " seldom";
    operands(inst, 0);
    nested(inst.blocks[0]);
    const Block& other = kernel_.blocks[inst.blocks[1]];
    if (other.insts.empty() && other.yields.empty()) return;
    out_ += " else";
    nested(inst.blocks[1]);
  }

  const Kernel& kernel_;
  bool renumber_;
  std::string out_;
  std::vector<uint32_t> names_;  // by V
  uint32_t next_ = 0;
  size_t depth_ = 0;
};

}  // namespace

std::string print(const Kernel& kernel) { return Printer(kernel, true).print(); }

std::string printInst(const Kernel& kernel, InstId inst) {
  return Printer(kernel, false).line(kernel.insts[inst]);
}

}  // namespace tercel::kernel
