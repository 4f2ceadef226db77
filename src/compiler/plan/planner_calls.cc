// Custom calls as steps.
#include <algorithm>
#include <cmath>

#include "compiler/ir/custom_call.h"
#include "compiler/plan/planner.h"
#include "program/call_signature.h"

namespace tercel::plan {
namespace {

using ir::AttrKey;
using ir::Op;
using ir::Value;
using program::Place;
using program::Step;
using program::StepKind;

std::vector<program::CallValue> callValues(const std::vector<ir::Type>& types) {
  std::vector<program::CallValue> values;
  for (const ir::Type& type : types) values.push_back({type.shape, type.is_token});
  return values;
}

// Nanoseconds, as if it were linear algebra: most calls are.
double callCost(const ir::Module& m, const Op& op) {
  constexpr double kStart = 1000, kEach = 0.3;
  int64_t elements = 0;
  for (const ir::Values* values : {&op.operands, &op.results})
    for (Value v : *values) elements = std::max(elements, m.shape(v).elements());
  return kStart + kEach * std::pow(static_cast<double>(elements), 1.5);
}

}  // namespace

int64_t aliasedOperand(const Op& op, size_t result) {
  const ir::Ints& pairs = op.ints(AttrKey::output_operand_aliases);
  for (size_t i = 0; i < pairs.size(); i += 2)
    if (pairs[i] == static_cast<int64_t>(result)) return pairs[i + 1];
  return -1;
}

// A place for a result of a call: where it is wanted, unless an operand lies there.
StorageId Planner::placeResult(Scope& scope, const Op& op, Value result) {
  ++time_;
  StorageId to = place(scope, result, {});
  bool clash = false;
  for (Value v : op.operands)
    clash |= !m_.type(v).is_token && holder(storageOf(v)) == holder(to);
  if (clash) to = keep(result.index, newStorage(result));
  --time_;
  return to;
}

// The memory of operand `o` for a result, where it is free to be overwritten, else a copy of it.
StorageId Planner::shareOperand(Scope& scope, const Op& op, size_t o, Value result) {
  Value before = op.operand(o);
  StorageId from = storageOf(before);
  auto wanted = scope.wanted.find(result.index);
  bool stays = wanted == scope.wanted.end() ? storages_[from].place == Place::arena &&
                                                  !scope.wanted.contains(root(before).index)
                                            : wanted->second == from;
  for (size_t i = 0; i < op.operands.size(); ++i)
    stays &= i == o || m_.type(op.operand(i)).is_token || storageOf(op.operand(i)) != from;
  if (stays && diesHere(scope, before)) return keep(result.index, from);
  StorageId to = placeResult(scope, op, result);
  copy(scope, from, to, m_.shape(before).bytes());
  return to;
}

// Once shapes are known, what is claimed of them is a constant.
Status Planner::decideAssertion(const Op& op) const {
  std::vector<ir::Literal> operands;
  for (Value v : op.operands) {
    const Op* def = m_.def(v);
    if (!def || def->kind != ir::OpKind::constant_) return unsupported(op);
    operands.push_back(def->literal());
  }
  return ir::checkShapeAssertion(op, operands);
}

Status Planner::planCustomCall(Scope& scope, const Op& op) {
  const std::string& target = op.symbol(AttrKey::call_target_name);
  // JAX's mark that its operands must be computed: nothing to run.
  if (target == "dce_sink" && op.results.empty()) return Status();
  if (target == ir::kShapeAssertion && op.results.empty()) return decideAssertion(op);
  if (can_call_ && !can_call_(target)) return unsupported(op);
  std::vector<StorageId> operands, results;
  for (Value v : op.operands) operands.push_back(storageOf(v));
  for (size_t r = 0; r < op.results.size(); ++r) {
    Value result = op.result(r);
    int64_t shared = aliasedOperand(op, r);
    if (m_.type(result).is_token) {
      results.push_back(keep(result.index, newStorage(result)));
    } else if (shared < 0) {
      results.push_back(placeResult(scope, op, result));
    } else {
      size_t o = static_cast<size_t>(shared);
      results.push_back(operands[o] = shareOperand(scope, op, o, result));
    }
  }
  Step& step = addStep(scope, StepKind::custom_call);
  step.name = target;
  step.text = op.symbol(AttrKey::backend_config);
  step.values = program::encode(
      {op.integer(AttrKey::api_version),
       callValues(ir::shownTypes(m_, op, op.operands, AttrKey::operand_layouts)),
       callValues(ir::shownTypes(m_, op, op.results, AttrKey::result_layouts)),
       op.boolean(AttrKey::has_side_effect)});
  step.cost = callCost(m_, op);
  plan_.program.cost += step.cost;
  for (StorageId id : operands) step.slots.push_back(slot(id));
  for (StorageId id : results) step.slots.push_back(slot(id));
  return Status();
}

}  // namespace tercel::plan
