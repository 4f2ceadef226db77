#include "compiler/passes/constants.h"
#include "compiler/passes/effects.h"
#include "compiler/passes/fold.h"
#include "compiler/passes/passes.h"
#include "compiler/passes/rules.h"

namespace tercel::passes {
using namespace ir;
namespace {

// A constant whose elements are all equal, not yet a splat.
bool shouldSplat(const Literal& literal) {
  return !literal.isSplat() && literal.shape().elements() == 1;
}

class Canonicaliser : public Rewriter {
 public:
  using Rewriter::Rewriter;

 protected:
  bool enter(OpId id) override {
    OpKind kind = op(id).kind;
    return (kind == OpKind::if_ || kind == OpKind::case_) && canonicalBranch(*this, id);
  }

  bool visit(OpId id) override {
    const Op& op = this->op(id);
    if (op.results.empty()) return false;
    if (op.results.size() == 1) {
      Value by = withoutElements(op);
      if (!by.valid()) by = foldedSplat(*this, op);
      if (!by.valid()) by = rule(op);
      if (by.valid()) {
        replace(op.result(), by);
        return true;
      }
    }
    return !op.regions.empty() && canonicalControl(*this, id);
  }

 private:
  Value withoutElements(const Op& op) {
    if (module().type(op.result()).is_token || !isPure(op)) return {};
    if (op.kind == OpKind::constant_ || shape(op.result()).elements() != 0) return {};
    return splat(shape(op.result()), 0);
  }

  Value rule(const Op& op) {
    switch (opClass(op.kind)) {
      case OpClass::unary:
      case OpClass::binary:
      case OpClass::ternary: {
        Value by = canonicalSelection(*this, op);
        return by.valid() ? by : canonicalArithmetic(*this, op);
      }
      case OpClass::shape:
      case OpClass::index:
        return canonicalMovement(*this, op);
      case OpClass::source:
        return source(op);
      default:
        return op.kind == OpKind::get_dimension_size_ ? dimensionSize(op) : Value{};
    }
  }

  Value source(const Op& op) {
    const Shape& result = shape(op.result());
    if (op.kind == OpKind::constant_) {
      if (!shouldSplat(op.literal())) return {};
      return constant(withShape(op.literal(), result.dims));
    }
    int64_t dimension = op.integer(AttrKey::iota_dimension);
    int64_t size = result.dims[dimension];
    if (size == 1) return splat(result, 0);
    if (result.rank() == 1) return {};
    Value line = emit(OpKind::iota_, {}, {result.dtype, {size}},
                      {{AttrKey::iota_dimension, int64_t{0}}});
    return broadcast(line, result.dims, {dimension});
  }

  Value dimensionSize(const Op& op) {
    int64_t size = shape(op.operand(0)).dims[op.integer(AttrKey::dimension)];
    return splat(shape(op.result()), static_cast<double>(size));
  }
};

}  // namespace

PassResult canonicalise(Module& module) { return Canonicaliser(module).run(); }

}  // namespace tercel::passes
