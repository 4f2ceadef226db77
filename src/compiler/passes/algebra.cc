// Less to compute: work moves in front of what repeats it (broadcasts) and behind what drops some
// of it (slices), degenerate contractions become products, tiny branches selections. What a rule
// emits is brought into canonical form at once.
#include <algorithm>
#include <unordered_map>

#include "compiler/ir/clone.h"
#include "compiler/passes/constants.h"
#include "compiler/passes/dimensions.h"
#include "compiler/passes/effects.h"
#include "compiler/passes/monoid.h"
#include "compiler/passes/own_work.h"
#include "compiler/passes/passes.h"
#include "compiler/passes/place_sums.h"
#include "compiler/passes/rules.h"
#include "compiler/passes/zero_signs.h"

namespace tercel::passes {
using namespace ir;
namespace {

// A branch this small is cheaper computed than jumped over.
constexpr size_t kMaxSelectedOps = 8;
constexpr int64_t kMaxSelectedElements = 16;

// The dimensions that some operand really varies in; the whole rank where one is no broadcast.
Ints variedDimensions(const Rewriter& rw, const Op& op) {
  Ints varied;
  for (Value v : op.operands) {
    if (splatOf(rw, v)) continue;
    const Op* broadcast = rw.def(v, OpKind::broadcast_in_dim_);
    if (!broadcast) return range(rw.shape(op.result()).rank());
    for (int64_t d : broadcast->ints(AttrKey::broadcast_dimensions)) varied.push_back(d);
  }
  std::ranges::sort(varied);
  varied.erase(std::ranges::unique(varied).begin(), varied.end());
  return varied;
}

// An operand of an elementwise op without the dimensions in which none of them varies.
Value varyingPart(Rewriter& rw, Value v, const Ints& varied, const Dims& dims) {
  if (const Literal* splat = splatOf(rw, v)) return rw.constant(withShape(*splat, dims));
  const Op& broadcast = *rw.def(v, OpKind::broadcast_in_dim_);
  Ints where;
  for (int64_t d : broadcast.ints(AttrKey::broadcast_dimensions))
    where.push_back(std::ranges::find(varied, d) - varied.begin());
  return rw.broadcast(broadcast.operand(0), dims, where);
}

// op(broadcast(a), broadcast(b)) -> broadcast(op(a, b))
Value computeBeforeBroadcast(Rewriter& rw, const Op& op) {
  const Shape& result = rw.shape(op.result());
  Ints varied = variedDimensions(rw, op);
  Dims dims;
  for (int64_t d : varied) dims.push_back(result.dims[d]);
  if (elementCount(dims) >= result.elements()) return {};
  Values operands;
  for (Value v : op.operands) operands.push_back(varyingPart(rw, v, varied, dims));
  Value small = rw.emit(op.kind, operands, {result.dtype, dims}, Attrs(op.attrs));
  return rw.broadcast(small, result.dims, varied);
}

// One side of an outer product: [batch, free] in the order of the result, then spread over it.
Value outerFactor(Rewriter& rw, const Op& dot, int side, size_t other_free, DType dtype) {
  Value v = dot.operand(side);
  const Ints& batch =
      dot.ints(side ? AttrKey::rhs_batching_dimensions : AttrKey::lhs_batching_dimensions);
  const Ints& contracting =
      dot.ints(side ? AttrKey::rhs_contracting_dimensions : AttrKey::lhs_contracting_dimensions);
  const Shape& result = rw.shape(dot.result());
  Ints order = batch, where = range(static_cast<int64_t>(batch.size()));
  int64_t next = static_cast<int64_t>(batch.size() + (side ? other_free : 0));
  for (int64_t d = 0; d < rw.shape(v).rank(); ++d) {
    if (contains(batch, d) || contains(contracting, d)) continue;
    order.push_back(d);
    where.push_back(next++);
  }
  Dims kept;
  for (int64_t d : order) kept.push_back(rw.shape(v).dims[d]);
  for (int64_t d : contracting) order.push_back(d);
  Value factor = rw.reshape(rw.transpose(rw.convert(v, dtype), order), kept);
  return rw.broadcast(factor, result.dims, where);
}

// A contraction over one element is a product, plus the +0 that the sum starts from.
Value outerProduct(Rewriter& rw, const Op& dot) {
  DType t = rw.shape(dot.result()).dtype;
  const Shape& lhs = rw.shape(dot.operand(0));
  const Ints& contracting = dot.ints(AttrKey::lhs_contracting_dimensions);
  for (int64_t d : contracting)
    if (lhs.dims[d] != 1) return {};
  if (isPred(t) || isComplex(t)) return {};
  size_t lhs_free = static_cast<size_t>(lhs.rank()) - contracting.size() -
                    dot.ints(AttrKey::lhs_batching_dimensions).size();
  const DType wide = computedType(t);
  Value a = outerFactor(rw, dot, 0, lhs_free, wide), b = outerFactor(rw, dot, 1, lhs_free, wide);
  Value product = rw.binary(OpKind::multiply_, a, b);
  if (!isFloat(t)) return product;
  return rw.convert(rw.binary(OpKind::add_, product, rw.like(product, 0)), t);
}

// n equal numbers added up. Infinities and NaN come out as from the sum; so does its sign of zero.
Value repeatedSum(Rewriter& rw, Value v, int64_t n) {
  if (n == 1) return v;
  return rw.binary(OpKind::multiply_, v, rw.like(v, static_cast<double>(n)));
}

bool addsUpExactly(DType t, int64_t n) {
  if (isInteger(t)) return n < (int64_t{1} << (8 * byteSize(t) - 1));
  return (t == DType::f32 || t == DType::f64) && n < (int64_t{1} << 24);
}

class Algebra : public Rewriter {
 public:
  explicit Algebra(Module& module) : Rewriter(module) { countUses(); }

 protected:
  void enterRegion(RegionId, OpId owner) override {
    extrema_.emplace_back();
    const bool is_reduce = owner.valid() && op(owner).kind == OpKind::reduce_;
    reduce_around_.push_back(is_reduce ? owner : OpId{});
    if (!isLoop(owner)) return;
    zero_signs_.enterLoop(*this, op(owner));
    ++loops_around_;
  }
  void leaveRegion(RegionId, OpId owner) override {
    loops_around_ -= isLoop(owner);
    extrema_.pop_back();
    reduce_around_.pop_back();
  }

  bool visit(OpId id) override {
    const Op& op = this->op(id);
    if (op.kind == OpKind::if_) return selectBranches(op);
    if (op.results.size() != 1) return false;
    Value by = canonicalForm(*this, op);
    if (!by.valid()) by = rule(op);
    if (!by.valid()) {
      noteExtremum(op);
      return false;
    }
    replace(op.result(), by);
    return true;
  }

 private:
  bool isLoop(OpId owner) const { return owner.valid() && op(owner).kind == OpKind::while_; }

  Value rule(const Op& op) {
    if (op.kind == OpKind::select_ && reduce_around_.back().valid())
      return firstOfBest(*this, this->op(reduce_around_.back()), op);
    Value by = op.kind == OpKind::compare_ ? compareExtremum(op) : Value{};
    if (by.valid()) return by;
    if (op.kind == OpKind::select_) by = selectInPlace(*this, op);
    if (op.kind == OpKind::add_) by = addInPlace(op);
    if (by.valid()) return by;
    if (actsElementByElement(*this, op)) return computeBeforeBroadcast(*this, op);
    switch (op.kind) {
      case OpKind::dot_general_:
        return outerProduct(*this, op);
      case OpKind::dynamic_update_slice_:
        return updateColumn(*this, op, loops_around_ > 0);
      case OpKind::dynamic_slice_:
      case OpKind::slice_:
        return computeAfterSlice(*this, op);
      case OpKind::reduce_:
        if (Value sums = sumOfReadOnce(op); sums.valid()) return sums;
        return reduceBroadcast(op);
      default:
        return {};
    }
  }

  Value addInPlace(const Op& op) {
    for (size_t i : {size_t{1}, size_t{0}}) {
      const Value to = op.operand(1 - i), added = op.operand(i);
      if (!isReadOnlyHere(added) || !isZeroAroundPlaces(*this, added) ||
          (otherUses(to) > 0 && def(added, OpKind::dynamic_update_slice_)) ||
          !zero_signs_.isNeverNegative(*this, to))
        continue;
      if (Value sum = sumInPlace(*this, to, added); sum.valid()) return sum;
    }
    if (!isReadOnlyHere(op.operand(0)) || !isReadOnlyHere(op.operand(1))) return {};
    const Value sum = place_sums_.add(*this, op.operand(0), op.operand(1));
    return sum.valid() ? sum : place_sums_.add(*this, op.operand(1), op.operand(0));
  }

  void noteExtremum(const Op& op) {
    if (op.kind == OpKind::maximum_ || op.kind == OpKind::minimum_)
      extrema_.back().insert_or_assign(op.operand(0).index, op.result());
  }

  // y = maximum(x, c) is greater than c where x is, as a minimum is less: the gradient of a relu
  // asks x, which is in memory for no one else.
  Value compareExtremum(const Op& op) {
    auto found = extrema_.back().find(op.operand(0).index);
    if (found == extrema_.back().end() || otherUses(op.operand(0)) != 1) return {};
    if (op.symbol(AttrKey::compare_type) == "TOTALORDER") return {};
    const Op& y = *def(found->second);
    std::string_view direction = op.symbol(AttrKey::comparison_direction);
    bool is_greatest = y.kind == OpKind::maximum_;
    bool keeps = is_greatest ? direction == "GT" || direction == "LE"
                             : direction == "LT" || direction == "GE";
    if (!keeps || !(y.operand(1) == op.operand(1))) return {};
    return emit(op.kind, {found->second, op.operand(1)}, shape(op.result()), Attrs(op.attrs));
  }

  bool isReadOnlyHere(Value v) const { return isMadeHere(v) && otherUses(v) == 0; }

  Value sumOfReadOnce(const Op& op) {
    return isReadOnlyHere(op.operand(0)) ? sumOfProducts(*this, op) : Value{};
  }

  // A reduction over dimensions that a broadcast added: once, and then as often as they are long.
  Value reduceBroadcast(const Op& op) {
    const Op* broadcast =
        op.operands.size() == 2 ? def(op.operand(0), OpKind::broadcast_in_dim_) : nullptr;
    std::optional<OpKind> kind = reducerKind(module(), op.regions[0]);
    if (!broadcast || !kind) return {};
    const Ints& where = broadcast->ints(AttrKey::broadcast_dimensions);
    const Dims& from = shape(op.operand(0)).dims;
    int64_t repeats = 1;
    Ints inner, kept, result_where;  // y's dimensions reduced; those kept, in y and in the result
    int64_t next = 0;
    for (int64_t d = 0; d < static_cast<int64_t>(from.size()); ++d) {
      int64_t at = std::ranges::find(where, d) - where.begin();
      bool own = at < static_cast<int64_t>(where.size());
      if (contains(op.ints(AttrKey::dimensions), d)) {
        if (own)
          inner.push_back(at);
        else
          repeats *= from[d];
      } else {
        if (own) kept.push_back(at), result_where.push_back(next);
        ++next;
      }
    }
    if (repeats == 1 || !repeatsAway(*kind, shape(op.result()).dtype, repeats)) return {};
    Value once = reduceOnce(op, *kind, broadcast->operand(0), inner, kept, repeats);
    return once.valid() ? this->broadcast(once, shape(op.result()).dims, result_where) : Value{};
  }

  bool repeatsAway(OpKind kind, DType t, int64_t n) const {
    if (kind == OpKind::add_) return addsUpExactly(t, n);
    return kind != OpKind::multiply_ && kind != OpKind::xor_;
  }

  Value reduceOnce(const Op& op, OpKind kind, Value y, const Ints& inner, const Ints& kept,
                   int64_t repeats) {
    Value init = op.operand(1);
    DType t = shape(y).dtype;
    bool sum = kind == OpKind::add_;
    if (inner.empty()) {
      Value each = sum ? repeatedSum(*this, y, repeats) : y;
      return binary(kind, this->broadcast(init, shape(y).dims, {}), each);
    }
    // The init would be counted as often as the elements.
    if (sum && !isZeros(*this, init)) return {};
    Dims dims;
    for (int64_t d : kept) dims.push_back(shape(y).dims[d]);
    Type type{Shape{t, dims}};
    OpId id = module().addOp(OpKind::reduce_, {y, init}, {&type, 1});
    module().op(id).attrs = {{AttrKey::dimensions, inner}};
    module().op(id).regions.push_back(RegionCopier(module(), module()).copy(op.regions[0]));
    place(id);
    Value once = now(module().op(id).result());
    return sum ? repeatedSum(*this, once, repeats) : once;
  }

  bool isSmall(RegionId region) {
    const std::vector<OpId>& ops = module().region(region).ops;
    if (ops.size() > kMaxSelectedOps) return false;
    return std::ranges::all_of(ops, [&](OpId id) {
      const Op& op = this->op(id);
      if (!isPure(op) || !op.regions.empty() || op.results.size() != 1) return false;
      if (!isElementwise(op.kind) && opClass(op.kind) > OpClass::shape) return false;
      return shape(op.result()).elements() <= kMaxSelectedElements;
    });
  }

  bool selectBranches(const Op& op) {
    for (Value v : op.results)
      if (module().type(v).is_token || shape(v).elements() > kMaxSelectedElements) return false;
    if (!isSmall(op.regions[0]) || !isSmall(op.regions[1])) return false;
    Values on_true = inlineRegion(op.regions[0], {});
    Values on_false = inlineRegion(op.regions[1], {});
    for (size_t i = 0; i < on_true.size(); ++i) {
      Value pred = broadcast(op.operand(0), shape(on_true[i]).dims, {});
      replace(op.results[i], select(pred, on_true[i], on_false[i]));
    }
    return true;
  }

  ZeroSigns zero_signs_;
  PlaceSums place_sums_;
  int loops_around_ = 0;
  std::vector<OpId> reduce_around_;  // whose bodies they are; invalid: of something else
  // For each region around: its maxima and minima, by their first operand.
  std::vector<std::unordered_map<uint32_t, Value>> extrema_;
};

}  // namespace

PassResult algebra(Module& module) { return Algebra(module).run(); }

}  // namespace tercel::passes
