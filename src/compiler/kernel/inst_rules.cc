#include "compiler/kernel/inst_rules.h"

#include "core/status.h"

namespace tercel::kernel {
namespace {

class Rules {
 public:
  Rules(const Kernel& kernel, const Inst& inst)
      : kernel_(kernel), inst_(inst), op_(inst.op), result_(inst.type) {}

  std::string check() {
    if (op_ != Opcode::prefetch && result_.lanes == 0) return "a type without lanes";
    if (std::string problem = checkTiles(); !problem.empty()) return problem;
    if (instClass(op_) == InstClass::state) return checkState();
    if (instClass(op_) == InstClass::memory) return checkMemory();
    if (op_ >= Opcode::iadd && op_ <= Opcode::icmp) return checkInteger();
    if (op_ >= Opcode::fadd && op_ <= Opcode::fcmp) return checkFloat();
    if (op_ >= Opcode::zext && op_ <= Opcode::bitcast) return checkConversion();
    return checkMovement();
  }

 private:
  Type operand(size_t i) const { return kernel_.type(inst_.operands[i]); }

  std::string wants(size_t i, Type type) const {
    if (operand(i) == type) return {};
    return cat("operand ", i, " is ", toString(operand(i)), ", not ", toString(type));
  }
  std::string allAre(Type type, size_t first = 0) const {
    for (size_t i = first; i < inst_.operands.size(); ++i)
      if (std::string problem = wants(i, type); !problem.empty()) return problem;
    return {};
  }

  std::string checkComparison(Predicate first, Predicate last) const {
    if (inst_.imm < static_cast<int64_t>(first) || inst_.imm > static_cast<int64_t>(last))
      return "a predicate of the other kind of numbers";
    if (result_ != operand(0).with(Scalar::i1)) return "the result is i1 with the operands' lanes";
    return wants(1, operand(0));
  }

  std::string checkInteger() const {
    if (isFloat(operand(0).scalar)) return "integers wanted";
    if (op_ == Opcode::icmp) return checkComparison(Predicate::eq, Predicate::uge);
    bool bitwise = op_ == Opcode::and_ || op_ == Opcode::or_ || op_ == Opcode::xor_;
    if (result_.scalar == Scalar::i1 && !bitwise) return "arithmetic on i1";
    bool is_dot = op_ == Opcode::dot_s16 || op_ == Opcode::dot_u8s8;
    if (is_dot && result_.scalar != Scalar::i32) return "i32 wanted";
    return allAre(result_);
  }

  // bf16 is only moved, negated and converted; f16 has what some machines have.
  std::string checkFloat() const {
    Scalar s = operand(0).scalar;
    if (!isFloat(s)) return "floats wanted";
    if (bitWidth(s) == 16 && !isOfShort(op_, s)) return cat("arithmetic on ", scalarName(s));
    if (op_ == Opcode::fcmp) return checkComparison(Predicate::oeq, Predicate::fuge);
    return allAre(result_);
  }

  std::string checkConversion() const {
    Scalar from = operand(0).scalar, to = result_.scalar;
    int change = bitWidth(to) - bitWidth(from);
    bool integers = !isFloat(from) && !isFloat(to), floats = isFloat(from) && isFloat(to);
    if (operand(0).lanes != result_.lanes) {
      bool same_bits = operand(0).lanes * bitWidth(from) == result_.lanes * bitWidth(to);
      return op_ == Opcode::bitcast && integers && same_bits ? "" : "lanes differ";
    }
    auto number = [](Scalar s) { return s == Scalar::f32 || s == Scalar::f64; };
    bool right = false;
    switch (op_) {
      case Opcode::zext: case Opcode::sext: right = integers && change > 0; break;
      case Opcode::itrunc: right = integers && change < 0; break;
      case Opcode::fpext: right = floats && change > 0; break;
      case Opcode::fptrunc: right = floats && change < 0; break;
      case Opcode::sitofp: case Opcode::uitofp: right = !isFloat(from) && number(to); break;
      case Opcode::fptosi: case Opcode::fptoui:
        right = number(from) && !isFloat(to) && to != Scalar::i1;
        break;
      default: right = change == 0;
    }
    return right ? "" : cat("no conversion from ", scalarName(from), " to ", scalarName(to));
  }

  std::string checkMovement() const {
    switch (op_) {
      case Opcode::constant: {
        int width = bitWidth(result_.scalar);
        bool fits = width == 64 || static_cast<uint64_t>(inst_.imm) >> width == 0;
        return fits ? "" : "more bits than the type has";
      }
      case Opcode::splat:
        return result_.isVector() ? wants(0, {result_.scalar, 1}) : "splat to a scalar";
      case Opcode::lane_ids:
        return isFloat(result_.scalar) || result_.scalar == Scalar::i1 ? "integers wanted" : "";
      case Opcode::extract:
        if (result_ != Type{operand(0).scalar, 1}) return "the result is one lane of the operand";
        return inst_.imm >= 0 && inst_.imm < operand(0).lanes ? "" : "no such lane";
      case Opcode::shuffle: return checkShuffle();
      case Opcode::dot_bf16:
        if (result_.scalar != Scalar::f32 || !result_.isVector()) return "a vector of f32 wanted";
        if (operand(0) != result_.with(Scalar::i32)) return "words of i32 wanted";
        return wants(1, operand(0)).empty() ? wants(2, result_) : wants(1, operand(0));
      case Opcode::lookup: case Opcode::lookup2: return checkLookup();
      case Opcode::any:
        if (result_ != Type{Scalar::i1, 1}) return "the result is one i1";
        return operand(0).scalar == Scalar::i1 ? "" : "a mask wanted";
      case Opcode::rarely: return checkRarely();
      default: return checkSelect();
    }
  }

  std::string checkLookup() const {
    const Type index = operand(0);
    if (isFloat(index.scalar) || bitWidth(index.scalar) != bitWidth(result_.scalar) ||
        index.lanes != result_.lanes)
      return "numbers as wide as the result's lanes wanted";
    for (size_t i = 1; i < inst_.operands.size(); ++i)
      if (std::string problem = wants(i, result_); !problem.empty()) return problem;
    return "";
  }

  std::string checkShuffle() const {
    if (operand(0).scalar != result_.scalar) return "the result has another scalar type";
    if (inst_.list.size() != result_.lanes) return "not one lane number for each result lane";
    for (int16_t lane : inst_.list)
      if (lane < -1 || lane >= 2 * operand(0).lanes) return "no such lane";
    return wants(1, operand(0));
  }

  std::string checkSelect() const {
    if (operand(0) != Type{Scalar::i1, 1} && operand(0) != result_.with(Scalar::i1))
      return "the condition is i1 or as many i1 as the result has lanes";
    return allAre(result_, 1);
  }

  std::string checkRarely() const {
    const Block& body = kernel_.blocks[kernel_.functions[static_cast<size_t>(inst_.imm)].body];
    if (inst_.operands.size() != body.args.size() + 1) return "another number of arguments";
    if (operand(0) != Type{Scalar::i1, 1}) return "the condition is one i1";
    for (size_t i = 0; i < body.args.size(); ++i)
      if (std::string problem = wants(i + 1, kernel_.type(body.args[i])); !problem.empty())
        return problem;
    if (result_ != operand(1)) return "the result has another type than the first argument";
    return result_ == kernel_.type(body.yields[0]) ? "" : "the function yields another type";
  }

  std::string checkTiles() const {
    auto tiles = static_cast<size_t>(opcodeTiles(op_));
    if (tiles == 0) return {};
    bool is_memory = instClass(op_) == InstClass::memory;
    if (inst_.list.size() != tiles + is_memory) return "another number of tiles";
    for (size_t i = 0; i < tiles; ++i)
      if (inst_.list[i] < 0 || inst_.list[i] >= kTiles) return "no such tile";
    if (!is_memory) return {};
    return byteSize(result_.scalar) * result_.lanes == kTileRowBytes ? "" : "no row of a tile";
  }

  std::string checkState() const {
    return hasResult(op_) && result_ != Type{Scalar::i32, 1} ? "the result is one i32" : "";
  }

  std::string checkMemory() const {
    const Buffer& buffer = kernel_.buffers[static_cast<size_t>(inst_.imm)];
    const size_t indexed = op_ == Opcode::gather || op_ == Opcode::scatter;
    if (std::string problem = wants(0, {Scalar::i64, 1}); !problem.empty()) return problem;
    if (op_ == Opcode::prefetch) return {};
    if (indexed && operand(1) != result_.with(Scalar::i32))
      if (std::string problem = wants(1, result_.with(Scalar::i64)); !problem.empty())
        return problem;
    if (result_.scalar != buffer.element)
      return cat("the buffer holds ", scalarName(buffer.element));
    Type mask = result_.with(Scalar::i1);
    switch (op_) {
      case Opcode::load: case Opcode::tile_load: return {};
      case Opcode::load_masked: case Opcode::gather: return wants(1 + indexed, mask);
      default: break;
    }
    if (buffer.read_only) return "the buffer is read only";
    if (op_ == Opcode::tile_store) return {};
    if (std::string problem = wants(1 + indexed, result_); !problem.empty()) return problem;
    return inst_.operands.size() == 3 + indexed ? wants(2 + indexed, mask) : "";
  }

  const Kernel& kernel_;
  const Inst& inst_;
  Opcode op_;
  Type result_;
};

}  // namespace

std::string checkInst(const Kernel& kernel, const Inst& inst) {
  return Rules(kernel, inst).check();
}

}  // namespace tercel::kernel
