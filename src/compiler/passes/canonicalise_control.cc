// Ops with regions that are another, plainer op.
#include <algorithm>

#include "compiler/passes/constants.h"
#include "compiler/passes/dimensions.h"
#include "compiler/passes/effects.h"
#include "compiler/passes/rules.h"
#include "core/status.h"

namespace tercel::passes {
using namespace ir;
namespace {

// What a scalar region computes, applied to whole arrays: each op of it once, at full shape.
class Elementwise {
 public:
  Elementwise(Rewriter& rw, RegionId region, const Dims& dims)
      : rw_(rw), region_(region), dims_(dims) {}

  bool possible() const {
    for (OpId id : body().ops) {
      const Op& op = rw_.op(id);
      if (op.results.size() != 1 || !op.regions.empty()) return false;
      bool plain = isElementwise(op.kind) && op.kind != OpKind::map_;
      if (!plain && op.kind != OpKind::constant_) return false;
      if (rw_.shape(op.result()).rank() != 0) return false;
    }
    return true;
  }

  Values apply(const Values& args) {
    for (size_t i = 0; i < args.size(); ++i) bind(body().args[i], args[i]);
    for (size_t i = 0; i < body().ops.size(); ++i) {
      const Op& op = rw_.op(body().ops[i]);
      Values operands;
      for (Value v : op.operands) operands.push_back(full(v));
      if (op.kind == OpKind::constant_) {
        bind(op.result(), rw_.constant(withShape(op.literal(), dims_)));
      } else {
        Shape shape{rw_.shape(op.result()).dtype, dims_};
        bind(op.result(), rw_.emit(op.kind, operands, shape, Attrs(op.attrs)));
      }
    }
    Values results;
    for (Value v : Values(body().results)) results.push_back(full(v));
    return results;
  }

 private:
  const Region& body() const { return rw_.module().region(region_); }
  void bind(Value scalar, Value array) { bound_.emplace_back(scalar, array); }
  // Bodies are a few ops long. A value from outside of the region is spread over the array.
  Value full(Value scalar) {
    for (auto& [from, to] : bound_)
      if (from == scalar) return to;
    Value array = rw_.broadcast(scalar, dims_, {});
    bind(scalar, array);
    return array;
  }

  Rewriter& rw_;
  RegionId region_;
  Dims dims_;
  std::vector<std::pair<Value, Value>> bound_;
};

bool mapRule(Rewriter& rw, const Op& op) {
  Elementwise body(rw, op.regions[0], rw.shape(op.result()).dims);
  if (!body.possible()) return false;
  rw.replaceAll(op, body.apply(op.operands));
  return true;
}

// A reduction of one element each is one application of its body; of none, its init.
bool reduceRule(Rewriter& rw, const Op& op) {
  int64_t reduced = 1;
  for (int64_t d : op.ints(AttrKey::dimensions)) reduced *= rw.shape(op.operand(0)).dims[d];
  if (reduced > 1) return false;
  size_t lanes = op.results.size();
  Dims dims = rw.shape(op.result()).dims;
  Values inits, inputs;
  for (size_t i = 0; i < lanes; ++i) inits.push_back(rw.broadcast(op.operand(lanes + i), dims, {}));
  if (reduced == 0) {
    rw.replaceAll(op, inits);
    return true;
  }
  Elementwise body(rw, op.regions[0], dims);
  if (!body.possible()) return false;
  for (size_t i = 0; i < lanes; ++i) inputs.push_back(rw.reshape(op.operand(i), dims));
  for (Value v : inputs) inits.push_back(v);
  rw.replaceAll(op, body.apply(inits));
  return true;
}

// Lines of few elements are sorted side by side: neighbours that are in the wrong order change places,
// which keeps the order of equal ones.
class FewSorted {
 public:
  FewSorted(Rewriter& rw, const Op& op, int64_t length)
      : rw_(rw), op_(op), dimension_(op.integer(AttrKey::dimension)), length_(length),
        dims_(rw.shape(op.result()).dims) {
    dims_[dimension_] = 1;
  }

  bool possible() const { return Elementwise(rw_, op_.regions[0], dims_).possible(); }

  Values sorted() {
    for (Value v : op_.operands)
      for (int64_t i = 0; i < length_; ++i) elements_.push_back(element(v, i));
    for (int64_t last = length_ - 1; last > 0; --last)
      for (int64_t i = 0; i < last; ++i) order(i);
    Values results;
    for (size_t k = 0; k < op_.operands.size(); ++k) {
      const auto first = elements_.begin() + static_cast<int64_t>(k) * length_;
      results.push_back(rw_.emit(OpKind::concatenate_, Values(first, first + length_),
                                 Shape(rw_.shape(op_.results[k])),
                                 {{AttrKey::dimension, dimension_}}));
    }
    return results;
  }

 private:
  Value element(Value v, int64_t i) { return rw_.sliceAlong(v, dimension_, i, i + 1); }
  Value& at(size_t operand, int64_t i) {
    return elements_[operand * static_cast<size_t>(length_) + static_cast<size_t>(i)];
  }

  void order(int64_t i) {
    Values compared;
    for (size_t k = 0; k < op_.operands.size(); ++k) {
      compared.push_back(at(k, i + 1));
      compared.push_back(at(k, i));
    }
    const Value turned = Elementwise(rw_, op_.regions[0], dims_).apply(compared)[0];
    for (size_t k = 0; k < op_.operands.size(); ++k) {
      const Value a = at(k, i), b = at(k, i + 1);
      at(k, i) = rw_.select(turned, b, a);
      at(k, i + 1) = rw_.select(turned, a, b);
    }
  }

  Rewriter& rw_;
  const Op op_;
  int64_t dimension_, length_;
  Dims dims_;
  std::vector<Value> elements_;  // by operand, then by place
};

bool sortRule(Rewriter& rw, const Op& op) {
  const bool is_narrow = byteSize(rw.shape(op.operand(0)).dtype) < 4;
  const int64_t few = is_narrow ? 3 : 4;  // more takes longer to compile than a sort
  const int64_t length = rw.shape(op.operand(0)).dims[op.integer(AttrKey::dimension)];
  if (length <= 1) {
    rw.replaceAll(op, op.operands);
    return true;
  }
  FewSorted lines(rw, op, length);
  if (length > few || !lines.possible()) return false;
  rw.replaceAll(op, lines.sorted());
  return true;
}

// Reductions and sorts that give no elements.
bool emptyRule(Rewriter& rw, const Op& op) {
  for (Value v : op.results)
    if (rw.shape(v).elements() != 0) return false;
  for (Value v : op.results) rw.replace(v, rw.like(v, 0));
  return true;
}

// Nothing to scatter: what it would be scattered into.
bool emptyScatterRule(Rewriter& rw, const Op& op) {
  if (rw.shape(op.operands.back()).elements() != 0) return false;
  rw.replaceAll(op, std::span(op.operands).first(op.results.size()));
  return true;
}

bool whileRule(Rewriter& rw, const Op& op) {
  if (hasEffects(rw.module(), op.regions[0])) return false;
  if (!isAllZeros(rw, rw.module().region(op.regions[0]).results[0])) return false;
  rw.replaceAll(op, op.operands);
  return true;
}

// A constant costs nothing wherever it is made: there is nothing to hold back.
bool barrierRule(Rewriter& rw, const Op& op) {
  for (size_t i = 0; i < op.results.size(); ++i)
    if (constantOf(rw, op.operand(i))) rw.replace(op.results[i], op.operand(i));
  return false;
}

bool inlineBranch(Rewriter& rw, const Op& op, size_t branch) {
  rw.replaceAll(op, rw.inlineRegion(op.regions[branch], {}));
  return true;
}

bool replaceByIf(Rewriter& rw, const Op& op, Value pred, RegionId on_true, RegionId on_false) {
  std::vector<Type> types;
  for (Value v : op.results) types.push_back(rw.module().type(v));
  OpId id = rw.module().addOp(OpKind::if_, {pred}, types);
  rw.module().op(id).regions = {on_true, on_false};
  rw.module().op(id).loc = op.loc;
  rw.replaceAll(op, rw.op(id).results);
  rw.placeUnwalked(id);
  return true;
}

// case of two branches is if; JAX makes its index from a predicate.
bool caseRule(Rewriter& rw, const Op& op) {
  size_t branches = op.regions.size();
  if (branches == 1) return inlineBranch(rw, op, 0);
  if (std::optional<int64_t> index = scalarInteger(rw, op.operand(0))) {
    bool in_range = *index >= 0 && *index < static_cast<int64_t>(branches);
    return inlineBranch(rw, op, in_range ? *index : branches - 1);
  }
  if (branches != 2) return false;
  Value index = op.operand(0);
  const Op* from = rw.def(index, OpKind::convert_);
  if (from && isPred(rw.shape(from->operand(0)).dtype))
    return replaceByIf(rw, op, from->operand(0), op.regions[1], op.regions[0]);
  Value is_first = rw.compare(index, rw.like(index, 0), "EQ", "SIGNED");
  return replaceByIf(rw, op, is_first, op.regions[0], op.regions[1]);
}

// Both branches give the same value from outside of them. What they do besides, they still do.
bool ifRule(Rewriter& rw, const Op& op) {
  const Values& on_true = rw.module().region(op.regions[0]).results;
  const Values& on_false = rw.module().region(op.regions[1]).results;
  bool all_same = std::ranges::none_of(
      op.regions, [&](RegionId branch) { return hasEffects(rw.module(), branch); });
  for (size_t i = 0; i < on_true.size(); ++i) {
    if (on_true[i] == on_false[i])
      rw.replace(op.results[i], on_true[i]);
    else
      all_same = false;
  }
  return all_same;
}

}  // namespace

bool canonicalBranch(Rewriter& rw, OpId id) {
  const Op& op = rw.op(id);
  if (op.kind == OpKind::case_) return caseRule(rw, op);
  if (isAllOnes(rw, op.operand(0))) return inlineBranch(rw, op, 0);
  if (isAllZeros(rw, op.operand(0))) return inlineBranch(rw, op, 1);
  const Op* n = rw.def(op.operand(0), OpKind::not_);
  return n && replaceByIf(rw, op, n->operand(0), op.regions[1], op.regions[0]);
}

bool canonicalControl(Rewriter& rw, OpId id) {
  const Op& op = rw.op(id);
  if (actsOnElements(op.kind) && emptyRule(rw, op)) return true;
  switch (op.kind) {
    case OpKind::if_:
      return ifRule(rw, op);
    case OpKind::optimization_barrier_:
      return barrierRule(rw, op);
    case OpKind::map_:
      return mapRule(rw, op);
    case OpKind::reduce_:
      return reduceRule(rw, op);
    case OpKind::scatter_:
      return emptyScatterRule(rw, op);
    case OpKind::sort_:
      return sortRule(rw, op);
    case OpKind::while_:
      return whileRule(rw, op);
    default:
      return false;
  }
}

}  // namespace tercel::passes
