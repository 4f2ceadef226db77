// broadcast, reshape and transpose; the ops that cut and join are in canonicalise_cut.cc.
#include <algorithm>

#include "compiler/passes/constants.h"
#include "compiler/passes/dimensions.h"
#include "compiler/passes/rules.h"

namespace tercel::passes {
using namespace ir;
namespace {

// Operand without dimensions of 1, broadcast_dimensions rising, something added.
Value canonicalBroadcast(Rewriter& rw, const Op& op) {
  Value x = op.operand(0);
  const Dims& from = rw.shape(x).dims;
  const Dims& to = rw.shape(op.result()).dims;
  const Ints& where = op.ints(AttrKey::broadcast_dimensions);
  if (const Literal* splat = splatOf(rw, x)) return rw.constant(withShape(*splat, to));
  if (from == to && isIdentity(where)) return x;
  if (hasUnitDims(from)) {
    Ints kept;
    for (size_t i = 0; i < where.size(); ++i)
      if (from[i] != 1) kept.push_back(where[i]);
    return rw.broadcast(rw.reshape(x, squeezed(from)), to, kept);
  }
  if (!rises(where)) {
    Ints order = range(where.size());
    std::ranges::sort(order, {}, [&](int64_t i) { return where[i]; });
    Ints sorted = where;
    std::ranges::sort(sorted);
    return rw.broadcast(rw.transpose(x, order), to, sorted);
  }
  if (elementCount(from) == elementCount(to)) return rw.reshape(x, to);
  if (const Op* inner = rw.def(x, OpKind::broadcast_in_dim_)) {
    Ints composed;
    for (int64_t d : inner->ints(AttrKey::broadcast_dimensions)) composed.push_back(where[d]);
    return rw.broadcast(inner->operand(0), to, composed);
  }
  return {};
}

// reshape(broadcast(y)), where each group of dimensions is all of y's or all added.
Value reshapedBroadcast(Rewriter& rw, const Op& broadcast, const Dims& to) {
  Value y = broadcast.operand(0);
  const Ints& where = broadcast.ints(AttrKey::broadcast_dimensions);
  const Dims& from = rw.shape(broadcast.result()).dims;
  Dims y_dims;
  Ints y_where;
  for (const ReshapeGroup& group : reshapeGroups(from, to)) {
    bool has_own = false, has_added = false;
    for (int64_t i = group.from_begin; i < group.from_end; ++i) {
      if (from[i] == 1) continue;
      (contains(where, i) ? has_own : has_added) = true;
    }
    if (has_own && has_added) return {};
    for (int64_t j = group.to_begin; has_own && j < group.to_end; ++j) {
      if (to[j] == 1) continue;
      y_dims.push_back(to[j]);
      y_where.push_back(j);
    }
  }
  return rw.broadcast(rw.reshape(y, y_dims), to, y_where);
}

// The dimensions larger than 1 keep their order.
bool movesUnitsOnly(const Dims& dims, const Ints& permutation) {
  Ints moved;
  for (int64_t d : permutation)
    if (dims[d] != 1) moved.push_back(d);
  return rises(moved);
}

Value transposedWithoutUnits(Rewriter& rw, Value x, const Ints& permutation, const Dims& to) {
  const Dims& from = rw.shape(x).dims;
  Ints position(from.size(), -1), rest;
  int64_t next = 0;
  for (size_t d = 0; d < from.size(); ++d)
    if (from[d] != 1) position[d] = next++;
  for (int64_t d : permutation)
    if (from[d] != 1) rest.push_back(position[d]);
  return rw.reshape(rw.transpose(rw.reshape(x, squeezed(from)), rest), to);
}

// A transpose that moves nothing but the dimension along which single lines are joined.
Value joinedElsewhere(Rewriter& rw, const Op& join, const Ints& permutation, const Shape& to) {
  const int64_t along = join.integer(AttrKey::dimension);
  Ints rest = permutation;
  std::erase(rest, along);
  const bool has_lines = std::ranges::all_of(join.operands, [&](Value v) {
    return rw.shape(v).dims[static_cast<size_t>(along)] == 1;
  });
  if (!has_lines || !std::ranges::is_sorted(rest)) return {};
  const auto at = static_cast<size_t>(std::ranges::find(permutation, along) - permutation.begin());
  Dims line = to.dims;
  line[at] = 1;
  Values lines;
  for (Value v : join.operands) lines.push_back(rw.reshape(v, line));
  return rw.emit(OpKind::concatenate_, std::move(lines), to,
                 {{AttrKey::dimension, static_cast<int64_t>(at)}});
}

// Element work between two reshapes, the latter of which undoes the former, and of numbers.
class BetweenReshapes {
 public:
  BetweenReshapes(Rewriter& rw, const Dims& dims) : rw_(rw), dims_(dims) {}

  bool fits(Value v, int64_t uses = 0, int depth = 8) const {
    if (isReshaped(v) || constantOf(rw_, v)) return isReshaped(v) || constantOf(rw_, v)->isSplat();
    const Op* op = rw_.def(v);
    return op && depth > 0 && isElementwise(op->kind) && op->results.size() == 1 &&
           rw_.isMadeHere(v) && rw_.otherUses(v) == uses && std::ranges::all_of(op->operands, [&](Value from) {
             return fits(from, 1, depth - 1);
           });
  }

  Value in(Value v) {
    if (const Literal* literal = constantOf(rw_, v))
      return rw_.constant(literal->withShape({rw_.shape(v).dtype, dims_}));
    if (isReshaped(v)) return rw_.def(v)->operand(0);
    const Op op = *rw_.def(v);
    Values operands;
    for (Value from : op.operands) operands.push_back(in(from));
    return rw_.emit(op.kind, std::move(operands), {rw_.shape(v).dtype, dims_}, Attrs(op.attrs));
  }

 private:
  bool isReshaped(Value v) const {
    const Op* op = rw_.def(v);
    return op && op->kind == OpKind::reshape_ && rw_.shape(op->operand(0)).dims == dims_;
  }

  Rewriter& rw_;
  const Dims dims_;
};

Value canonicalReshape(Rewriter& rw, const Op& op) {
  Value x = op.operand(0);
  const Shape& to = rw.shape(op.result());
  if (rw.shape(x) == to) return x;
  if (const Literal* literal = constantOf(rw, x)) return rw.constant(literal->withShape(to));
  const Op* inner = rw.def(x);
  if (!inner) return {};
  if (inner->kind == OpKind::reshape_) return rw.reshape(inner->operand(0), to.dims);
  if (inner->kind == OpKind::broadcast_in_dim_) return reshapedBroadcast(rw, *inner, to.dims);
  BetweenReshapes between(rw, to.dims);
  return between.fits(x) ? between.in(x) : Value{};
}

// Operand without dimensions of 1, of which some change their order.
Value canonicalTranspose(Rewriter& rw, const Op& op) {
  Value x = op.operand(0);
  const Ints& permutation = op.ints(AttrKey::permutation);
  const Shape& from = rw.shape(x);
  const Shape& to = rw.shape(op.result());
  if (isIdentity(permutation)) return x;
  if (const Literal* splat = splatOf(rw, x)) return rw.constant(withShape(*splat, to.dims));
  if (movesUnitsOnly(from.dims, permutation)) return rw.reshape(x, to.dims);
  if (hasUnitDims(from.dims)) return transposedWithoutUnits(rw, x, permutation, to.dims);
  const Op* inner = rw.def(x);
  if (!inner) return {};
  if (inner->kind == OpKind::transpose_) {
    const Ints& first = inner->ints(AttrKey::permutation);
    Ints composed;
    for (int64_t d : permutation) composed.push_back(first[d]);
    return rw.transpose(inner->operand(0), composed);
  }
  if (inner->kind == OpKind::broadcast_in_dim_) {
    Ints moved_to = inverse(permutation), where;
    for (int64_t d : inner->ints(AttrKey::broadcast_dimensions)) where.push_back(moved_to[d]);
    return rw.broadcast(inner->operand(0), to.dims, where);
  }
  if (inner->kind == OpKind::concatenate_) return joinedElsewhere(rw, *inner, permutation, to);
  return {};
}

}  // namespace

Value canonicalMovement(Rewriter& rw, const Op& op) {
  switch (op.kind) {
    case OpKind::broadcast_in_dim_:
      return canonicalBroadcast(rw, op);
    case OpKind::reshape_:
      return canonicalReshape(rw, op);
    case OpKind::transpose_:
      return canonicalTranspose(rw, op);
    default:
      return canonicalCut(rw, op);
  }
}

}  // namespace tercel::passes
