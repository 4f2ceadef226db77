// Transposes and reshapes that only add or remove dimensions of 1 move down, through elementwise
// ops and reductions, until two cancel, an op that reads any order takes them up (dot_general,
// convolution, reduce), or they reach the end of the function.
#include <algorithm>

#include "compiler/ir/clone.h"
#include "compiler/passes/constants.h"
#include "compiler/passes/dimensions.h"
#include "compiler/passes/layout_rules.h"
#include "compiler/passes/passes.h"
#include "compiler/passes/rules.h"

namespace tercel::passes {
using namespace ir;
namespace {

bool movesThrough(const Rewriter& rw, const Op& op) {
  if (!isElementwise(op.kind) || op.kind == OpKind::map_ || op.operands.empty()) return false;
  for (Value v : op.operands)
    if (rw.shape(v).dims != rw.shape(op.result()).dims) return false;
  return true;
}

class Layout : public Rewriter {
 public:
  explicit Layout(Module& module) : Rewriter(module) { countUses(); }

 protected:
  bool visit(OpId id) override {
    const Op& op = this->op(id);
    if (op.kind == OpKind::reduce_) return layoutOfReduce(*this, id);
    if (op.results.size() != 1) return false;
    Value by = canonicalForm(*this, op);
    if (!by.valid()) by = rule(op);
    if (!by.valid()) return false;
    replace(op.result(), by);
    return true;
  }

 private:
  Value rule(const Op& op) {
    if (movesThrough(*this, op)) {
      Value by = withoutUnits(op);
      return by.valid() ? by : transposeAfter(op);
    }
    switch (op.kind) {
      case OpKind::convolution_:
        return layoutOfConvolution(*this, op);
      case OpKind::dot_general_:
        return layoutOfDot(*this, op);
      case OpKind::transpose_:
        return isPermutable(op.operand(0), inverse(op.ints(AttrKey::permutation)), kDepth) ||
                       cancels(op)
                   ? turned(op.operand(0), op.ints(AttrKey::permutation), kDepth)
                   : transposedProduct(*this, op);
      default:
        return {};
    }
  }

  // op(reshape(a), b) -> reshape(op(a, reshape(b))), where a has no dimensions of 1.
  Value withoutUnits(const Op& op) {
    const Dims& dims = shape(op.result()).dims;
    if (!hasUnitDims(dims)) return {};
    Dims rest = squeezed(dims);
    bool any = std::ranges::any_of(op.operands, [&](Value v) {
      const Op* reshaped = def(v, OpKind::reshape_);
      return reshaped && shape(reshaped->operand(0)).dims == rest;
    });
    if (!any) return {};
    Values operands;
    for (Value v : op.operands) operands.push_back(reshape(v, rest));
    Shape result{shape(op.result()).dtype, rest};
    return reshape(emit(op.kind, operands, result, Attrs(op.attrs)), dims);
  }

  static constexpr int kDepth = 4;  // of elementwise work that is looked through

  // Made of splats and broadcasts whose dimensions still rise when moved: no order costs anything.
  bool isPermutable(Value v, const Ints& moved_to, int depth) {
    if (splatOf(*this, v)) return true;
    const Op* op = def(v);
    if (!op || depth == 0) return false;
    if (op->kind == OpKind::broadcast_in_dim_) {
      Ints where;
      for (int64_t d : op->ints(AttrKey::broadcast_dimensions)) where.push_back(moved_to[d]);
      return rises(where);
    }
    return turnsInside(v, depth) &&
           std::ranges::all_of(op->operands,
                               [&](Value x) { return isPermutable(x, moved_to, depth - 1); });
  }

  // Elementwise work that nothing else needs, some of it on what is transposed the other way, and no
  // more on what would be transposed then.
  bool cancels(const Op& transposed) {
    Turned found;
    note(transposed.operand(0), inverse(transposed.ints(AttrKey::permutation)), kDepth, found);
    return found.back > 0 && found.back >= found.away;
  }
  struct Turned {
    int back = 0, away = 0;
  };

  bool turnsInside(Value v, int depth) {
    const Op* op = def(v);
    return op && depth > 0 && movesThrough(*this, *op) &&
           otherUses(v) <= (depth == kDepth ? 0u : 1u);
  }

  void note(Value v, const Ints& back, int depth, Turned& found) {
    if (splatOf(*this, v)) return;
    const Op* op = def(v, OpKind::transpose_);
    if (op && op->ints(AttrKey::permutation) == back) {
      ++found.back;
    } else if (turnsInside(v, depth)) {
      for (Value x : def(v)->operands) note(x, back, depth - 1, found);
    } else {
      ++found.away;
    }
  }

  // transpose(op(a, b)) -> op(transpose(a), transpose(b))
  Value turned(Value v, const Ints& permutation, int depth) {
    if (!turnsInside(v, depth)) return transpose(v, permutation);
    const Op op = *def(v);
    Values operands;
    for (Value x : op.operands) operands.push_back(turned(x, permutation, depth - 1));
    Dims dims;
    for (int64_t d : permutation) dims.push_back(shape(v).dims[static_cast<size_t>(d)]);
    return emit(op.kind, operands, {shape(v).dtype, dims}, op.attrs);
  }

  // op(transpose(a), transpose(b)) -> transpose(op(a, b)). Broadcasts and splats come in any order.
  Value transposeAfter(const Op& op) {
    const Op* first = nullptr;
    for (Value v : op.operands) {
      const Op* made_by = def(v);
      if (splatOf(*this, v) || (made_by && made_by->kind == OpKind::broadcast_in_dim_)) continue;
      if (!made_by || made_by->kind != OpKind::transpose_ || otherUses(v) != 0) return {};
      if (!first) first = made_by;
      if (made_by->attrs != first->attrs) return {};
    }
    if (!first) return {};
    Ints permutation = first->ints(AttrKey::permutation);
    Ints back = inverse(permutation);
    Values operands;
    for (Value v : op.operands) operands.push_back(transpose(v, back));
    Shape result{shape(op.result()).dtype, shape(first->operand(0)).dims};
    return transpose(emit(op.kind, operands, result, Attrs(op.attrs)), permutation);
  }
};

}  // namespace

PassResult layout(Module& module) { return Layout(module).run(); }

}  // namespace tercel::passes
