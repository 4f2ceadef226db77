// Comparisons with numbers of what is computed from narrow integers (neighbours counted, flags added
// up): where a narrow type holds all it can be, sums of that type do, and more fit into a vector.
#include <algorithm>
#include <map>
#include <unordered_map>

#include "compiler/passes/constants.h"
#include "compiler/passes/element_range.h"
#include "compiler/passes/lower_bits.h"
#include "compiler/passes/passes.h"
#include "compiler/passes/rewriter.h"

namespace tercel::passes {
using namespace ir;
namespace {

constexpr int kMostNarrowed = 128;
constexpr int kDepth = 64;  // of sums whose ranges are looked at

// Whether the lower bits of a result follow from those of the operands from `first` on.
struct Kept {
  bool lower_bits;
  size_t first;
};
Kept keptBy(OpKind kind) {
  if (keepsLowerBits(kind)) return {true, 0};
  switch (kind) {
    case OpKind::slice_: case OpKind::concatenate_: case OpKind::reverse_: case OpKind::transpose_:
    case OpKind::reshape_: case OpKind::broadcast_in_dim_: case OpKind::pad_:
      return {true, 0};
    case OpKind::select_: return {true, 1};
    default: return {false, 0};
  }
}

// The number of the same lower bits that the type holds.
double wrapped(double number, DType to) {
  const Range all = rangeOfType(to);
  const int64_t count = all.high - all.low + 1, above = static_cast<int64_t>(number) - all.low;
  return static_cast<double>(all.low + ((above % count) + count) % count);
}

class Narrowing : public Rewriter {
 public:
  explicit Narrowing(Module& module) : Rewriter(module) {
    for (const Function& f : module.functions) note(f.body);
  }

 protected:
  bool visit(OpId id) override {
    if (!comparesWithNumber(op(id))) return false;
    const Value wide = op(id).operand(0);
    const std::optional<DType> to = narrowTypeOf(op(id));
    int ops = 0, leaves = 0;
    if (!to || compared_[wide.index] != uses_[wide.index] || !isNarrow(wide, *to, ops, leaves) ||
        leaves == 0)
      return false;
    const std::string direction = op(id).symbol(AttrKey::comparison_direction);
    const double number = constantOf(*this, op(id).operand(1))->number(0);
    const Value by = narrowed(wide, *to);
    replace(op(id).result(), compare(by, like(by, number), direction,
                                     isSigned(*to) ? "SIGNED" : "UNSIGNED"));
    return true;
  }

 private:
  bool comparesWithNumber(const Op& op) const {
    if (op.kind != OpKind::compare_) return false;
    const DType type = shape(op.operand(0)).dtype;
    return hasRange(type) && byteSize(type) > 1 && splatOf(*this, op.operand(1));
  }

  void note(RegionId region) {
    auto use = [&](Value v) { ++uses_[v.index]; };
    for (OpId id : module().region(region).ops) {
      std::ranges::for_each(op(id).operands, use);
      if (comparesWithNumber(op(id))) ++compared_[op(id).operand(0).index];
      for (RegionId inner : op(id).regions) note(inner);
    }
    std::ranges::for_each(module().region(region).results, use);
  }

  // The narrowest one that holds both sides of a comparison.
  std::optional<DType> narrowTypeOf(const Op& compare) {
    const Range range = ranges_.of(*this, compare.operand(0), kDepth);
    const double number = constantOf(*this, compare.operand(1))->number(0);
    for (DType type : {DType::s8, DType::u8, DType::s16, DType::u16}) {
      if (byteSize(type) >= byteSize(shape(compare.operand(0)).dtype)) return {};
      const Range all = rangeOfType(type);
      if (all.low <= range.low && range.high <= all.high &&
          static_cast<double>(all.low) <= number && number <= static_cast<double>(all.high))
        return type;
    }
    return {};
  }

  // Whether all that v is computed from in this region, for nothing else, is narrow in the end.
  bool isNarrow(Value v, DType to, int& ops, int& leaves) {
    const Op* def = this->def(v);
    if (!def || ++ops > kMostNarrowed) return false;
    if (def->kind == OpKind::constant_) return byteSize(shape(v).dtype) <= 4;
    if (!isMadeHere(v)) return false;
    if (widens(*this, *def, to)) return ++leaves > 0;
    const Kept kept = keptBy(def->kind);
    if (!kept.lower_bits || (ops > 1 && uses_[v.index] > 1)) return false;
    return std::ranges::all_of(std::span(def->operands).subspan(kept.first),
                               [&](Value from) { return isNarrow(from, to, ops, leaves); });
  }

  Value narrowed(Value v, DType to) {
    const auto [known, is_new] = narrow_.try_emplace({v.index, to});
    if (!is_new) return known->second;
    const Op def = *this->def(v);
    Value result;
    if (const Literal* number = splatOf(*this, v)) {
      result = splat({to, shape(v).dims}, wrapped(number->number(0), to));
    } else if (def.kind == OpKind::constant_ || widens(*this, def, to)) {
      result = convert(def.kind == OpKind::constant_ ? v : def.operand(0), to);
    } else {
      Values operands = def.operands;
      for (size_t i = keptBy(def.kind).first; i < operands.size(); ++i)
        operands[i] = narrowed(operands[i], to);
      result = emit(def.kind, operands, {to, shape(v).dims}, def.attrs);
    }
    narrow_[{v.index, to}] = result;
    return result;
  }

  ElementRanges ranges_;
  std::unordered_map<uint32_t, int> uses_, compared_;
  std::map<std::pair<uint32_t, DType>, Value> narrow_;
};

}  // namespace

PassResult narrowComparisons(Module& module) { return Narrowing(module).run(); }

}  // namespace tercel::passes
