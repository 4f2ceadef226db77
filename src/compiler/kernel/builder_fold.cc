// What the Builder computes itself, of constants.
#include <algorithm>
#include <bit>
#include <cmath>
#include <optional>

#include "compiler/kernel/bounds.h"
#include "compiler/kernel/builder.h"

namespace tercel::kernel {
namespace {

bool holds(Predicate p, double a, double b) {
  const bool unordered = std::isnan(a) || std::isnan(b);
  switch (p) {
    case Predicate::oeq: return a == b;
    case Predicate::one: return !unordered && a != b;
    case Predicate::olt: return a < b;
    case Predicate::ole: return a <= b;
    case Predicate::ogt: return a > b;
    case Predicate::oge: return a >= b;
    case Predicate::ord: return !unordered;
    case Predicate::uno: return unordered;
    case Predicate::ueq: return unordered || a == b;
    case Predicate::une: return a != b;
    case Predicate::fult: return !(a >= b);
    case Predicate::fule: return !(a > b);
    case Predicate::fugt: return !(a <= b);
    case Predicate::fuge: return !(a < b);
    default: return false;
  }
}

// Where the result is exact, or rounded once as the machine does. NaN are left to the machine.
std::optional<double> computed(Opcode op, bool is_f32, double a, double b) {
  if (std::isnan(a) || std::isnan(b)) return {};
  auto rounded = [&](auto f) { return is_f32 ? f(static_cast<float>(a), static_cast<float>(b)) : f(a, b); };
  switch (op) {
    case Opcode::fpext: return a;
    case Opcode::fneg: return -a;
    case Opcode::fabs: return std::abs(a);
    case Opcode::trunc_int: return std::trunc(a);
    case Opcode::fadd: return rounded([](auto x, auto y) -> double { return x + y; });
    case Opcode::fsub: return rounded([](auto x, auto y) -> double { return x - y; });
    case Opcode::fmul: return rounded([](auto x, auto y) -> double { return x * y; });
    case Opcode::fmin: return a < b ? a : b;
    case Opcode::fmax: return a > b ? a : b;
    default: return {};
  }
}

bool isWide(Scalar s) { return s == Scalar::f32 || s == Scalar::f64; }

double numberOf(Scalar s, uint64_t bits) {
  return s == Scalar::f64 ? std::bit_cast<double>(bits)
                          : static_cast<double>(std::bit_cast<float>(static_cast<uint32_t>(bits)));
}

uint64_t bitsOf(Scalar s, double number) {
  return s == Scalar::f64 ? std::bit_cast<uint64_t>(number)
                          : std::bit_cast<uint32_t>(static_cast<float>(number));
}

}  // namespace

V Builder::foldNumbers(const Inst& inst) {
  const Scalar from = type(inst.operands[0]).scalar, to = inst.type.scalar;
  uint64_t one;
  if (inst.op == Opcode::fmul && isWide(from) && isConstant(inst.operands[1], &one) &&
      one == bitsOf(from, 1))
    return inst.operands[0];
  double numbers[2] = {0, 0};
  if (!isWide(from) || inst.operands.size() > 2) return {};
  for (size_t i = 0; i < inst.operands.size(); ++i) {
    uint64_t bits;
    if (!isConstant(inst.operands[i], &bits) || type(inst.operands[i]).scalar != from) return {};
    numbers[i] = numberOf(from, bits);
  }
  if (inst.op == Opcode::fcmp)
    return constant(inst.type, holds(static_cast<Predicate>(inst.imm), numbers[0], numbers[1]));
  if (!isWide(to)) return {};
  const auto number = computed(inst.op, from == Scalar::f32, numbers[0], numbers[1]);
  return number && !std::isnan(*number) ? constant(inst.type, bitsOf(to, *number)) : V{};
}

// a < b and a != b: the first of the two.
V Builder::stricterOf(const Inst& both) const {
  if (both.op != Opcode::and_) return {};
  for (size_t i = 0; i < 2; ++i) {
    const Inst *strict = kernel_.def(both.operands[i]), *other = kernel_.def(both.operands[1 - i]);
    if (!strict || !other || strict->op != Opcode::fcmp || other->op != Opcode::fcmp) return {};
    const auto is = [](const Inst* inst, Predicate p) { return inst->imm == static_cast<int64_t>(p); };
    if ((is(strict, Predicate::olt) || is(strict, Predicate::ogt)) && is(other, Predicate::une) &&
        std::ranges::equal(strict->operands, other->operands))
      return both.operands[i];
  }
  return {};
}

// Folds integer arithmetic of constants, the identities x+0, x-0, x*1, x*0, x|0, x&-1, x<<0, and
// limits that x keeps to.
V Builder::fold(const Inst& inst) {
  uint64_t a = 0, b = 0;
  if (!inst.operands.empty() && isFloat(type(inst.operands[0]).scalar)) return foldNumbers(inst);
  if (inst.operands.size() != 2 || isFloat(inst.type.scalar)) return {};
  if (const V stricter = stricterOf(inst); stricter.valid()) return stricter;
  if (!isConstant(inst.operands[1], &b)) return {};
  bool both = isConstant(inst.operands[0], &a);
  V x = inst.operands[0];
  Scalar s = inst.type.scalar;
  auto constantOf = [&](uint64_t bits) { return constant(inst.type, bits); };
  switch (inst.op) {
    case Opcode::iadd:
      return both ? constantOf(a + b) : b == 0 ? x : V{};
    case Opcode::isub:
      return both ? constantOf(a - b) : b == 0 ? x : V{};
    case Opcode::imul:
      return both ? constantOf(a * b) : b == 1 ? x : b == 0 ? constantOf(0) : V{};
    case Opcode::or_: case Opcode::xor_:
      if (both) return constantOf(inst.op == Opcode::or_ ? a | b : a ^ b);
      if (s == Scalar::i1 && inst.op == Opcode::or_ && b) return constantOf(1);
      return b == 0 ? x : V{};
    case Opcode::and_:
      if (both) return constantOf(a & b);
      return b == truncateTo(~uint64_t{0}, s) ? x : b == 0 ? constantOf(0) : V{};
    case Opcode::shl: case Opcode::lshr: case Opcode::ashr:
      return b == 0 ? x : V{};
    case Opcode::udiv:
      return both && b ? constantOf(a / b) : b == 1 ? x : V{};
    case Opcode::urem:
      return both && b ? constantOf(a % b) : b == 1 ? constantOf(0) : V{};
    case Opcode::smin: case Opcode::smax:
      if (!both) {
        const int64_t limit = signExtend(b, s);
        const Bounds bounds = boundsOf(kernel_, x);
        const bool keeps = inst.op == Opcode::smin ? bounds.most <= limit : bounds.least >= limit;
        return keeps ? x : V{};
      }
      return constantOf((signExtend(a, s) < signExtend(b, s)) == (inst.op == Opcode::smin) ? a : b);
    default:
      return {};
  }
}

}  // namespace tercel::kernel
