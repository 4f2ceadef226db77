// Factors of products in loops that are the same on every turn, and do not lie as products read
// them: they are turned once, before the loop, rather than packed anew on every turn.
#include <algorithm>
#include <unordered_set>

#include "compiler/ir/builder.h"
#include "compiler/passes/dimensions.h"
#include "compiler/passes/passes.h"

namespace tercel::passes {
using namespace ir;
namespace {

constexpr int64_t kFewestReads = 4;      // of each element on a turn
constexpr int64_t kFewestLines = 16;     // along which the turned factor is read
constexpr int64_t kMostBytes = 4 << 20;  // beyond, packing is little beside the product

struct Side {
  size_t operand;
  AttrKey batch, contracting;
};
constexpr Side kSides[] = {
    {0, AttrKey::lhs_batching_dimensions, AttrKey::lhs_contracting_dimensions},
    {1, AttrKey::rhs_batching_dimensions, AttrKey::rhs_contracting_dimensions},
};

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
        for (const Side& side : kSides)
          if (!inside.contains(m_.op(id).operand(side.operand).index))
            changed |= turn(around, m_.op(id), side);
    return changed;
  }

  Ints free(const Op& dot, const Side& side) const {
    Ints list;
    for (int64_t d = 0; d < m_.shape(dot.operand(side.operand)).rank(); ++d)
      if (!contains(dot.ints(side.batch), d) && !contains(dot.ints(side.contracting), d))
        list.push_back(d);
    return list;
  }
  int64_t freeElements(const Op& dot, const Side& side) const {
    int64_t count = 1;
    for (int64_t d : free(dot, side))
      count *= m_.shape(dot.operand(side.operand)).dims[static_cast<size_t>(d)];
    return count;
  }

  // The left factor is read along the sum, the right one across it.
  bool turn(Builder& around, Op& dot, const Side& side) {
    const Value v = dot.operand(side.operand);
    const Shape& from = m_.shape(v);
    const bool is_left = side.operand == 0;
    const Ints own = free(dot, side), sums = dot.ints(side.contracting);
    const Ints &first = is_left ? own : sums, &last = is_left ? sums : own;
    if (first.empty() || last.empty() || contains(last, from.rank() - 1)) return false;
    if (from.bytes() > kMostBytes || from.dims[static_cast<size_t>(last.back())] < kFewestLines ||
        freeElements(dot, kSides[1 - side.operand]) < kFewestReads)
      return false;
    Ints order = dot.ints(side.batch);
    order.insert(order.end(), first.begin(), first.end());
    order.insert(order.end(), last.begin(), last.end());
    around.setLocation(dot.loc);
    dot.operands[side.operand] = around.transpose(v, order);
    for (AttrKey key : {side.batch, side.contracting}) {
      Ints places;
      for (int64_t d : dot.ints(key)) places.push_back(std::ranges::find(order, d) - order.begin());
      dot.set(key, places);
    }
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
