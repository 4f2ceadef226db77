// multiply and add as one op: half the work where the machine has it as one instruction, as XLA
// does on CPUs too. Only where the add is the product's one reader, so that all who read a product
// read the same number, and not across regions: a loop would multiply again what stands before it.
#include <unordered_set>

#include "compiler/passes/constants.h"
#include "compiler/passes/passes.h"
#include "compiler/passes/rewriter.h"

namespace tercel::passes {
using namespace ir;
namespace {

class MultiplyAdd : public Rewriter {
 public:
  explicit MultiplyAdd(Module& module) : Rewriter(module) { countUses(); }

 protected:
  void enterRegion(RegionId, OpId) override { products_.emplace_back(); }
  void leaveRegion(RegionId, OpId) override { products_.pop_back(); }

  bool visit(OpId id) override {
    const Op op = this->op(id);
    if (op.results.size() != 1 || module().type(op.result()).is_token) return false;
    const DType dtype = shape(op.result()).dtype;
    if (dtype != DType::f32 && dtype != DType::f64) return false;
    switch (op.kind) {
      case OpKind::multiply_:
        products_.back().insert(op.result().index);
        return false;
      case OpKind::add_:
        return fuse(op, op.operand(0), op.operand(1)) || fuse(op, op.operand(1), op.operand(0));
      case OpKind::subtract_:
        return fuseDifference(op);
      default:
        return false;
    }
  }

 private:
  const Op* productAt(Value v) const {
    return products_.back().contains(v.index) && otherUses(v) == 0 ? def(v) : nullptr;
  }

  bool fuse(const Op& op, Value product, Value rest) {
    const Op* factors = product == rest ? nullptr : productAt(product);
    return factors && become(op, factors->operand(0), factors->operand(1), rest);
  }

  bool fuseDifference(const Op& op) {
    const Value a = op.operand(0), b = op.operand(1);
    if (a == b) return false;
    if (const Op* factors = productAt(a))
      return become(op, factors->operand(0), factors->operand(1), negated(b));
    if (const Op* factors = productAt(b))
      return become(op, factors->operand(0), negated(factors->operand(1)), a);
    return false;
  }

  bool become(const Op& op, Value a, Value b, Value c) {
    replace(op.result(), emit(OpKind::multiply_add_, {a, b, c}, shape(op.result())));
    return true;
  }

  Value negated(Value v) {
    if (const Op* negate = def(v, OpKind::negate_)) return negate->operand(0);
    if (const Literal* splat = splatOf(*this, v))
      return constant(withShape(passes::negated(*splat), shape(v).dims));
    return unary(OpKind::negate_, v);
  }

  std::vector<std::unordered_set<uint32_t>> products_;  // for each region around the visited op
};

}  // namespace

PassResult fuseMultiplyAdd(Module& module) { return MultiplyAdd(module).run(); }

}  // namespace tercel::passes
