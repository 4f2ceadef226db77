// Factors of products in loops that are the same on every turn, and do not lie as products read
// them: they are turned once, before the loop, rather than packed anew on every turn.
#include <algorithm>
#include <unordered_set>

#include "compiler/ir/builder.h"
#include "compiler/passes/dimensions.h"
#include "compiler/passes/dot_sides.h"
#include "compiler/passes/passes.h"

namespace tercel::passes {
using namespace ir;
namespace {

constexpr int64_t kFewestReads = 4;            // of each element on a turn
constexpr int64_t kFewestTurnedLines = 16;     // along which the turned factor is read
constexpr int64_t kMostPackedBytes = 4 << 20;  // beyond, packing is little beside the product

class TurnFactors {
 public:
  explicit TurnFactors(Module& m) : m_(m) {}

  bool visit(RegionId id) {
    const std::vector<OpId> todo = std::move(m_.region(id).ops);
    m_.region(id).ops.clear();
    Builder around(m_, id);
    bool changed = false;
    for (OpId op : todo) {
      if (m_.op(op).kind == OpKind::while_) changed |= turnBefore(around, m_.op(op).regions[1]);
      for (RegionId inner : m_.op(op).regions) changed |= visit(inner);
      m_.region(id).ops.push_back(op);
    }
    return changed;
  }

 private:
  bool turnBefore(Builder& around, RegionId body) {
    std::unordered_set<uint32_t> inside;
    for (Value v : m_.region(body).args) inside.insert(v.index);
    for (OpId id : m_.region(body).ops)
      for (Value v : m_.op(id).results) inside.insert(v.index);
    bool changed = false;
    for (OpId id : m_.region(body).ops)
      if (m_.op(id).kind == OpKind::dot_general_)
        for (const bool is_left : {true, false})
          if (!inside.contains(m_.op(id).operand(is_left ? 0 : 1).index))
            changed |= turn(around, m_.op(id), is_left);
    return changed;
  }

  int64_t freeElements(const DotSide& side) const {
    const Shape& from = m_.shape(side.value);
    return extent(from.dims, side.free(from.rank()));
  }

  // The left factor is read along the sum, the right one across it.
  bool turn(Builder& around, Op& dot, bool is_left) {
    DotSide lhs = lhsOf(dot), rhs = rhsOf(dot);
    DotSide &side = is_left ? lhs : rhs, &other = is_left ? rhs : lhs;
    const Shape& from = m_.shape(side.value);
    const Ints own = side.free(from.rank());
    const Ints &first = is_left ? own : side.contracting, &last = is_left ? side.contracting : own;
    if (first.empty() || last.empty() || contains(last, from.rank() - 1)) return false;
    if (from.bytes() > kMostPackedBytes || freeElements(other) < kFewestReads ||
        from.dims[static_cast<size_t>(last.back())] < kFewestTurnedLines)
      return false;
    Ints order = side.batch;
    order.insert(order.end(), first.begin(), first.end());
    order.insert(order.end(), last.begin(), last.end());
    around.setLocation(dot.loc);
    side = reordered(side, around.transpose(side.value, order), order);
    dot.attrs = dotAttrs(dot, lhs, rhs);
    dot.operands = {lhs.value, rhs.value};
    return true;
  }

  Module& m_;
};

}  // namespace

PassResult turnFactors(Module& module) {
  bool changed = false;
  for (const Function& function : module.functions)
    changed |= TurnFactors(module).visit(function.body);
  return changed;
}

}  // namespace tercel::passes
