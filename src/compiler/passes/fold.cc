#include "compiler/passes/fold.h"

#include <optional>

#include "compiler/eval/evaluator.h"
#include "compiler/ir/clone.h"
#include "compiler/passes/constants.h"
#include "compiler/passes/effects.h"
#include "compiler/passes/passes.h"

namespace tercel::passes {
using namespace ir;
namespace {

// The evaluator is slow: this much of it is a fraction of a millisecond.
constexpr int64_t kMaxWork = 16384;
constexpr int64_t kMaxBytes = 1 << 20;
// A folded result may be this small whatever it came from; a larger one must not outgrow that.
constexpr int64_t kSmallBytes = 1024;

bool splatsStaySplat(const Rewriter& rw, const Op& op) {
  if (!isElementwise(op.kind) || op.kind == OpKind::map_ || op.operands.empty()) return false;
  if (op.kind == OpKind::bitcast_convert_)
    return byteSize(rw.shape(op.operand(0)).dtype) == byteSize(rw.shape(op.result()).dtype);
  return true;
}

// What grows with repetition is better computed where it is used.
bool worthFolding(Rewriter& rw, const Op& op, int64_t constant_bytes) {
  if (op.kind == OpKind::broadcast_in_dim_) return false;
  int64_t bytes = rw.shape(op.result()).bytes();
  return bytes <= kSmallBytes || (bytes <= kMaxBytes && bytes <= 2 * constant_bytes);
}

Value foldedOp(Rewriter& rw, const Op& op) {
  if (op.operands.empty() || op.results.size() != 1 || !isPure(op)) return {};
  if (!op.regions.empty() && !actsOnElements(op.kind)) return {};
  std::vector<Literal> operands;
  int64_t bytes = 0;
  for (Value v : op.operands) {
    const Literal* literal = constantOf(rw, v);
    if (!literal) return {};
    if (!literal->isSplat()) bytes += literal->shape().bytes();
    operands.push_back(*literal);
  }
  if (!worthFolding(rw, op, bytes) || usesOuterValues(rw.module(), op)) return {};
  std::optional<Literal> result = evaluated(rw.module(), op, operands);
  return result ? rw.constant(std::move(*result)) : Value{};
}

class Folder : public Rewriter {
 public:
  using Rewriter::Rewriter;

 protected:
  bool enter(OpId id) override {
    return op(id).kind == OpKind::while_ && foldedLoop(*this, op(id));
  }

  bool visit(OpId id) override {
    const Op& op = this->op(id);
    Value by = foldedSplat(*this, op);
    if (!by.valid()) by = foldedOp(*this, op);
    if (!by.valid()) by = foldedPlaces(*this, op);
    if (!by.valid()) return false;
    replace(op.result(), by);
    return true;
  }
};

}  // namespace

std::optional<Literal> evaluated(const Module& module, const Op& op,
                                 std::span<const Literal> operands) {
  if (!eval::canEvaluate(op.kind)) return {};
  eval::EvalOptions options;
  options.work_limit = kMaxWork;
  auto results = eval::evaluateOp(module, op, operands, options);
  if (!results.ok() || results->size() != 1) return {};
  return std::move((*results)[0]);
}

Value foldedSplat(Rewriter& rw, const Op& op) {
  if (!splatsStaySplat(rw, op)) return {};
  std::vector<Literal> operands;
  for (Value v : op.operands) {
    const Literal* splat = splatOf(rw, v);
    if (!splat) return {};
    operands.push_back(withShape(*splat, {}));
  }
  // The same op on scalars; it is part of no region.
  Module& module = rw.module();
  Type scalar{Shape{rw.shape(op.result()).dtype, {}}};
  OpId id = module.addOp(op.kind, op.operands, {&scalar, 1});
  module.op(id).attrs = op.attrs;
  std::optional<Literal> result = evaluated(module, module.op(id), operands);
  if (!result) return {};
  return rw.constant(withShape(*result, rw.shape(op.result()).dims));
}

PassResult fold(Module& module) { return Folder(module).run(); }

}  // namespace tercel::passes
