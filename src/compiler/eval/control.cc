#include "compiler/eval/control.h"

#include <algorithm>
#include <iterator>

#include "compiler/eval/integers.h"
#include "compiler/eval/sort.h"
#include "compiler/ir/custom_call.h"
#include "compiler/ir/op_use.h"

namespace tercel::eval {
namespace {

// Custom calls that say where or how a value is kept, and change nothing of it.
constexpr std::string_view kAnnotations[] = {
    "Sharding",         "SPMDFullToShardShape",       "SPMDShardToFullShape",
    "LayoutConstraint", "annotate_device_placement",  "MoveToHost",
    "MoveToDevice",     "xla.sdy.FuncResultSharding",
};

}  // namespace

Result<Literals> evalCall(Evaluation& evaluation, const Op& op, Operands operands) {
  return evaluation.call(op.symbol(AttrKey::callee), operands);
}

Result<Literals> evalComposite(Evaluation& evaluation, const Op& op, Operands operands) {
  const std::string& callee = op.symbol(AttrKey::callee);
  if (evaluation.module().find(callee)) return evaluation.call(callee, operands);
  const std::string& name = op.symbol(AttrKey::name);
  if (name == "chlo.top_k") return evalTopK(evaluation, op, operands);
  return unimplemented("composite ", name, " has no decomposition");
}

Result<Literals> evalCustomCall(Evaluation& evaluation, const Op& op, Operands operands) {
  const std::string& target = op.symbol(AttrKey::call_target_name);
  if (std::ranges::find(kAnnotations, target) != std::end(kAnnotations))
    return evalIdentity(evaluation, op, operands);
  if (target == ir::kShapeAssertion && op.results.empty()) {
    TERCEL_TRY(ir::checkShapeAssertion(op, operands));
    return Literals{};
  }
  // JAX's mark that its operands must be computed.
  if (target == "dce_sink" && op.results.empty()) return Literals{};
  if (evaluation.options().custom_call) return evaluation.options().custom_call(op, operands);
  std::vector<ir::Type> types;
  for (ir::Value v : op.operands) types.push_back(evaluation.module().type(v));
  return unimplemented("custom_call to \"", target, "\" of ", ir::toString(types),
                       " is not known to the evaluator");
}

// An index outside of the branches means the last one.
Result<Literals> evalCase(Evaluation& evaluation, const Op& op, Operands operands) {
  auto last = static_cast<int64_t>(op.regions.size()) - 1;
  int64_t index = indexAt(operands[0], 0);
  if (index < 0 || index > last) index = last;
  return evaluation.runRegion(op.regions[static_cast<size_t>(index)], {});
}

Result<Literals> evalFork(Evaluation& evaluation, const Op& op, Operands) {
  Literals all;
  for (ir::RegionId region : op.regions) {
    TERCEL_ASSIGN(Literals results, evaluation.runRegion(region, {}));
    std::ranges::move(results, std::back_inserter(all));
  }
  return all;
}

Result<Literals> evalIf(Evaluation& evaluation, const Op& op, Operands operands) {
  return evaluation.runRegion(op.regions[operands[0].at<bool>(0) ? 0 : 1], {});
}

Result<Literals> evalWhile(Evaluation& evaluation, const Op& op, Operands operands) {
  Literals state(operands.begin(), operands.end());
  while (true) {
    TERCEL_TRY(evaluation.charge(1));
    TERCEL_ASSIGN(Literals condition, evaluation.runRegion(op.regions[0], state));
    if (!condition[0].at<bool>(0)) return state;
    TERCEL_ASSIGN(state, evaluation.runRegion(op.regions[1], state));
  }
}

Result<Literals> evalIdentity(Evaluation& evaluation, const Op& op, Operands operands) {
  if (operands.size() < op.results.size())
    return invalidArgument(op.results.size(), " results of ", operands.size(), " operands");
  Literals results(operands.begin(), operands.begin() + static_cast<long>(op.results.size()));
  for (size_t i = 0; i < results.size(); ++i)
    if (!(results[i].shape() == evaluation.resultShape(op, i)))
      return unimplemented("changes ", toString(results[i].shape()), " to ",
                           toString(evaluation.resultShape(op, i)));
  return results;
}

Result<Literals> evalAfterAll(Evaluation&, const Op&, Operands) {
  return Literals{Literal(ir::Type::token().shape, {})};
}

}  // namespace tercel::eval
