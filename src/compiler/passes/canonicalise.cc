#include "compiler/passes/constants.h"
#include "compiler/passes/effects.h"
#include "compiler/passes/element_range.h"
#include "compiler/passes/fold.h"
#include "compiler/passes/passes.h"
#include "compiler/passes/ranges.h"
#include "compiler/passes/rules.h"

namespace tercel::passes {
using namespace ir;
namespace {

// A constant whose elements are all equal, not yet a splat.
bool shouldSplat(const Literal& literal) {
  return !literal.isSplat() && literal.shape().elements() == 1;
}

Value withoutElements(Rewriter& rw, const Op& op) {
  if (rw.module().type(op.result()).is_token || !isPure(op)) return {};
  if (op.kind == OpKind::constant_ || rw.shape(op.result()).elements() != 0) return {};
  return rw.splat(rw.shape(op.result()), 0);
}

Value canonicalSource(Rewriter& rw, const Op& op) {
  const Shape& result = rw.shape(op.result());
  if (op.kind == OpKind::constant_) {
    if (!shouldSplat(op.literal())) return {};
    return rw.constant(withShape(op.literal(), result.dims));
  }
  int64_t dimension = op.integer(AttrKey::iota_dimension);
  int64_t size = result.dims[dimension];
  if (size == 1) return rw.splat(result, 0);
  if (result.rank() == 1) return {};
  Value line =
      rw.emit(OpKind::iota_, {}, {result.dtype, {size}}, {{AttrKey::iota_dimension, int64_t{0}}});
  return rw.broadcast(line, result.dims, {dimension});
}

Value dimensionSize(Rewriter& rw, const Op& op) {
  int64_t size = rw.shape(op.operand(0)).dims[op.integer(AttrKey::dimension)];
  return rw.splat(rw.shape(op.result()), static_cast<double>(size));
}

Value ruleOfClass(Rewriter& rw, const Op& op) {
  switch (opClass(op.kind)) {
    case OpClass::unary:
    case OpClass::binary:
    case OpClass::ternary: {
      Value by = canonicalSelection(rw, op);
      return by.valid() ? by : canonicalArithmetic(rw, op);
    }
    case OpClass::shape:
    case OpClass::index:
      return canonicalMovement(rw, op);
    case OpClass::source:
      return canonicalSource(rw, op);
    case OpClass::contract:
      return canonicalProduct(rw, op);
    default:
      return op.kind == OpKind::get_dimension_size_ ? dimensionSize(rw, op) : Value{};
  }
}

class Canonicaliser : public Rewriter {
 public:
  explicit Canonicaliser(Module& module) : Rewriter(module) { countUses(); }

 protected:
  bool enter(OpId id) override {
    OpKind kind = op(id).kind;
    return (kind == OpKind::if_ || kind == OpKind::case_) && canonicalBranch(*this, id);
  }

  void enterRegion(RegionId region, OpId owner) override {
    ranges_.enterRegion(*this, region, owner);
  }

  bool visit(OpId id) override {
    const Op& op = this->op(id);
    if (op.kind == OpKind::compare_) {
      std::optional<bool> known = ranges_.decides(*this, op);
      if (!known) known = elements_.decides(*this, op);
      if (known) {
        replace(op.result(), splat(shape(op.result()), *known));
        return true;
      }
    }
    if (op.kind == OpKind::shift_right_logical_ && elements_.areShiftedOut(*this, op)) {
      replace(op.result(), splat(shape(op.result()), 0));
      return true;
    }
    batchCountedPlaces(*this, id);
    Value by = canonicalForm(*this, op);
    if (!by.valid()) by = updateWithinRange(*this, op, ranges_);
    if (by.valid()) {
      replace(op.result(), by);
      return true;
    }
    return canonicalControl(*this, id);
  }

 private:
  IntegerRanges ranges_;
  ElementRanges elements_;
};

}  // namespace

Value canonicalForm(Rewriter& rw, const Op& op) {
  if (op.results.size() != 1) return {};
  Value by = withoutElements(rw, op);
  if (!by.valid()) by = foldedSplat(rw, op);
  if (!by.valid()) by = canonicalGather(rw, op);
  if (!by.valid()) by = canonicalFew(rw, op);
  if (!by.valid()) by = canonicalWindow(rw, op);
  if (!by.valid()) by = canonicalFloor(rw, op);
  return by.valid() ? by : ruleOfClass(rw, op);
}

PassResult canonicalise(Module& module) { return Canonicaliser(module).run(); }

}  // namespace tercel::passes
