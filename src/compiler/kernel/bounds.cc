#include "compiler/kernel/bounds.h"

#include <algorithm>
#include <optional>

namespace tercel::kernel {
namespace {

Bounds allOf(Scalar s) {
  const auto least = static_cast<int64_t>(~uint64_t{0} << (bitWidth(s) - 1));
  return {least, ~least};
}

// Where the type holds it; what wraps is anything.
Bounds within(__int128 least, __int128 most, Scalar s) {
  const Bounds all = allOf(s);
  if (least < all.least || most > all.most) return all;
  return {static_cast<int64_t>(least), static_cast<int64_t>(most)};
}

}  // namespace

int64_t signExtend(uint64_t bits, Scalar s) {
  int shift = 64 - bitWidth(s);
  return static_cast<int64_t>(bits << shift) >> shift;
}

uint64_t truncateTo(uint64_t bits, Scalar s) {
  int width = bitWidth(s);
  return width == 64 ? bits : bits & ((uint64_t{1} << width) - 1);
}

Bounds boundsOf(const Kernel& kernel, V v, const KnownBounds* known, int depth) {
  const Scalar s = kernel.type(v).scalar;
  const Bounds all = allOf(s);
  const Inst* def = kernel.def(v);
  if (known)
    if (const auto at = known->find(v.index); at != known->end()) return at->second;
  if (!def || depth == 0) return all;
  if (def->op == Opcode::constant) {
    const int64_t number = signExtend(static_cast<uint64_t>(def->imm), s);
    return {number, number};
  }
  auto of = [&](size_t i) { return boundsOf(kernel, def->operands[i], known, depth - 1); };
  switch (def->op) {
    case Opcode::smin: {
      const Bounds x = of(0), y = of(1);
      return {std::min(x.least, y.least), std::min(x.most, y.most)};
    }
    case Opcode::smax: {
      const Bounds x = of(0), y = of(1);
      return {std::max(x.least, y.least), std::max(x.most, y.most)};
    }
    case Opcode::select: {
      const Bounds x = of(1), y = of(2);
      return {std::min(x.least, y.least), std::max(x.most, y.most)};
    }
    case Opcode::sext: return of(0);
    case Opcode::itrunc: return within(of(0).least, of(0).most, s);
    case Opcode::iadd:
      return within(__int128{of(0).least} + of(1).least, __int128{of(0).most} + of(1).most, s);
    case Opcode::zext: {
      const Bounds from = of(0);
      const int width = bitWidth(kernel.type(def->operands[0]).scalar);
      return from.least >= 0 && width > 1 ? from : Bounds{0, (int64_t{1} << width) - 1};
    }
    case Opcode::and_: {
      const Bounds x = of(0), y = of(1);
      if (x.least < 0 && y.least < 0) return all;
      return {0, x.least < 0 ? y.most : y.least < 0 ? x.most : std::min(x.most, y.most)};
    }
    case Opcode::urem: {
      const Bounds by = of(1);
      return by.least > 0 ? Bounds{0, by.most - 1} : all;
    }
    case Opcode::lshr: {
      const Bounds by = of(1);
      return by.least > 0 && by.most < bitWidth(s) ? Bounds{0, all.most >> (by.least - 1)} : all;
    }
    default: return all;
  }
}

namespace {

class LimitDropper {
 public:
  explicit LimitDropper(Kernel& kernel) : k_(kernel), standing_for_(kernel.values.size()) {}

  void run() {
    const auto& whole = k_.blocks[0].args;
    for (V v : whole) known_[v.index] = {0, k_.tasks};
    for (const Inst& inst : k_.insts) {
      if (inst.op == Opcode::for_) noteFor(inst);
      if (inst.op == Opcode::while_) noteWhile(inst);
    }
    bool any = false;
    for (const Inst& inst : k_.insts) any |= drop(inst);
    if (!any) return;
    for (Inst& inst : k_.insts) replaceIn(inst.operands);
    for (Block& block : k_.blocks) replaceIn(block.yields);
  }

 private:
  bool isInteger(V v) const {
    const Type type = k_.type(v);
    return !type.isVector() && !isFloat(type.scalar) && bitWidth(type.scalar) >= 32;
  }

  void noteFor(const Inst& inst) {
    const Bounds low = boundsOf(k_, inst.operands[0], &known_);
    const Bounds high = boundsOf(k_, inst.operands[1], &known_);
    if (low.least >= 0 && high.most > low.least)
      known_[k_.blocks[inst.blocks[0]].args[0].index] = {low.least, high.most - 1};
  }

  void noteWhile(const Inst& inst) {
    const Block &condition = k_.blocks[inst.blocks[0]], &body = k_.blocks[inst.blocks[1]];
    for (size_t i = 0; i < inst.operands.size(); ++i) {
      if (!isInteger(inst.operands[i])) continue;
      const Bounds first = boundsOf(k_, inst.operands[i], &known_);
      if (const std::optional<Bounds> counted = counter(condition, body, i, first)) {
        known_[body.args[i].index] = *counted;
        continue;
      }
      const Bounds next = boundsOf(k_, body.yields[i], &known_);
      const Bounds both = {std::min(first.least, next.least), std::max(first.most, next.most)};
      for (V v : {condition.args[i], body.args[i]}) known_[v.index] = both;
    }
  }

  // What goes on from `first` in steps while it is below a number.
  std::optional<Bounds> counter(const Block& condition, const Block& body, size_t i,
                                Bounds first) const {
    const Inst* test = k_.def(condition.yields[0]);
    const Inst* step = k_.def(body.yields[i]);
    if (!test || test->op != Opcode::icmp || test->imm != static_cast<int64_t>(Predicate::slt) ||
        test->operands[0] != condition.args[i] || !step || step->op != Opcode::iadd ||
        step->operands[0] != body.args[i])
      return {};
    const Bounds limit = boundsOf(k_, test->operands[1], &known_);
    const Bounds by = boundsOf(k_, step->operands[1]);
    const Bounds all = allOf(k_.type(body.args[i]).scalar);
    const Inst* number = k_.def(step->operands[1]);
    if (!number || number->op != Opcode::constant || by.least < 1 || limit.most <= first.least ||
        limit.most > all.most - by.most)
      return {};
    return Bounds{first.least, limit.most - 1};
  }

  // Whether one of the operands stands for the result from now on.
  bool drop(const Inst& inst) {
    if (inst.results.empty() || !isInteger(inst.results[0])) return false;
    V& instead = standing_for_[inst.results[0].index];
    if (inst.op == Opcode::smin || inst.op == Opcode::smax) {
      const Bounds x = boundsOf(k_, inst.operands[0], &known_);
      const Bounds limit = boundsOf(k_, inst.operands[1], &known_);
      const bool keeps = inst.op == Opcode::smin ? x.most <= limit.least : x.least >= limit.most;
      if (keeps) instead = inst.operands[0];
    } else if (inst.op == Opcode::select) {
      const Inst* test = k_.def(inst.operands[0]);
      if (!test || test->op != Opcode::icmp ||
          test->imm != static_cast<int64_t>(Predicate::slt) || !isInteger(test->operands[0]))
        return false;
      const Bounds x = boundsOf(k_, test->operands[0], &known_);
      if (x.least >= boundsOf(k_, test->operands[1], &known_).most) instead = inst.operands[2];
    }
    if (!instead.valid()) return false;
    known_[inst.results[0].index] = boundsOf(k_, instead, &known_);
    return true;
  }

  template <class Values>
  void replaceIn(Values& values) {
    for (V& v : values)
      while (standing_for_[v.index].valid()) v = standing_for_[v.index];
  }

  Kernel& k_;
  KnownBounds known_;
  std::vector<V> standing_for_;  // by V
};

}  // namespace

void dropLimits(Kernel& kernel) {
  LimitDropper(kernel).run();
}

}  // namespace tercel::kernel
