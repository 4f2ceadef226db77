#include "compiler/passes/fold.h"

#include <functional>
#include <optional>

#include "compiler/eval/evaluator.h"
#include "compiler/passes/clone.h"
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
// Ops looked at to find whether a loop runs at all.
constexpr int kMaxConditionOps = 16;

bool splatsStaySplat(const Rewriter& rw, const Op& op) {
  if (!isElementwise(op.kind) || op.kind == OpKind::map_ || op.operands.empty()) return false;
  if (op.kind == OpKind::bitcast_convert_)
    return byteSize(rw.shape(op.operand(0)).dtype) == byteSize(rw.shape(op.result()).dtype);
  return true;
}

std::optional<Literal> evaluated(const Module& module, const Op& op,
                                 std::span<const Literal> operands) {
  if (!eval::canEvaluate(op.kind)) return {};
  eval::EvalOptions options;
  options.work_limit = kMaxWork;
  auto results = eval::evaluateOp(module, op, operands, options);
  if (!results.ok() || results->size() != 1) return {};
  return std::move((*results)[0]);
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

// The values of a region whose arguments are known, found on demand.
class KnownRegion {
 public:
  using Argument = std::function<std::optional<Literal>(size_t)>;
  KnownRegion(Rewriter& rw, RegionId region, Argument argument)
      : rw_(rw), region_(region), argument_(std::move(argument)) {}

  std::optional<Literal> result(size_t i) { return value(rw_.module().region(region_).results[i]); }

 private:
  std::optional<Literal> value(Value v) {
    if (const Literal* literal = constantOf(rw_, v)) return *literal;
    const Op* op = rw_.def(v);
    if (!op) return argument(v);
    if (++visited_ > kMaxConditionOps || !isPure(*op) || !op->regions.empty()) return {};
    if (op->results.size() != 1 || rw_.shape(v).rank() != 0) return {};
    std::vector<Literal> operands;
    for (Value operand : op->operands) {
      std::optional<Literal> literal = value(operand);
      if (!literal) return {};
      operands.push_back(std::move(*literal));
    }
    return evaluated(rw_.module(), *op, operands);
  }

  std::optional<Literal> argument(Value v) {
    const Values& args = rw_.module().region(region_).args;
    size_t i = rw_.module().value(v).index;
    return i < args.size() && args[i] == v ? argument_(i) : std::nullopt;
  }

  Rewriter& rw_;
  RegionId region_;
  Argument argument_;
  int visited_ = 0;
};

bool isFalse(const std::optional<Literal>& pred) { return pred && !pred->at<bool>(0); }

bool hasEffects(const Module& module, RegionId region) {
  bool any = false;
  forEachOp(module, region, [&](OpId id, RegionId) { any |= !isPure(module.op(id)); });
  return any;
}

// A loop that does not run is its operands; one that runs once is its body.
bool foldLoop(Rewriter& rw, const Op& loop) {
  RegionId cond = loop.regions[0], body = loop.regions[1];
  if (hasEffects(rw.module(), cond)) return false;
  auto initial = [&](size_t i) -> std::optional<Literal> {
    const Literal* literal = constantOf(rw, loop.operand(i));
    return literal ? std::optional(*literal) : std::nullopt;
  };
  if (isFalse(KnownRegion(rw, cond, initial).result(0))) {
    rw.replaceAll(loop, loop.operands);
    return true;
  }
  KnownRegion first_turn(rw, body, initial);
  auto after_one = [&](size_t i) { return first_turn.result(i); };
  if (!KnownRegion(rw, cond, initial).result(0)) return false;
  if (!isFalse(KnownRegion(rw, cond, after_one).result(0))) return false;
  rw.replaceAll(loop, rw.inlineRegion(body, loop.operands));
  return true;
}

class Folder : public Rewriter {
 public:
  using Rewriter::Rewriter;

 protected:
  bool enter(OpId id) override { return op(id).kind == OpKind::while_ && foldLoop(*this, op(id)); }

  bool visit(OpId id) override {
    const Op& op = this->op(id);
    Value by = foldedSplat(*this, op);
    if (!by.valid()) by = foldedOp(*this, op);
    if (!by.valid()) return false;
    replace(op.result(), by);
    return true;
  }
};

}  // namespace

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
