#include "compiler/ir/infer_rules.h"

namespace tercel::ir {
namespace {

Types operandTypes(const OpUse& use) {
  Types types;
  for (size_t i = 0; i < use.count(); ++i) types.push_back(use.type(i));
  return types;
}

Types declaredTypes(const OpUse& use) { return {use.declared.begin(), use.declared.end()}; }

Status checkScalarOperand(const OpUse& use, DType dtype) {
  if (!use.type(0).is_token && use.shape(0) == Shape{dtype, {}}) return {};
  return use.error("operand 0 is not a ", dtypeName(dtype), "[]");
}

Result<Types> inferBranches(const OpUse& use, DType selector) {
  TERCEL_TRY(checkScalarOperand(use, selector));
  if (use.regions.empty()) return use.error("has no branches");
  Types types = regionResultTypes(use, 0);
  for (size_t i = 0; i < use.regions.size(); ++i) {
    TERCEL_TRY(checkRegionArgs(use, i, {}));
    TERCEL_TRY(checkRegionResults(use, i, types));
  }
  return types;
}

Result<Types> inferWhile(const OpUse& use) {
  Types carried = operandTypes(use), pred{Type{Shape{DType::pred, {}}}};
  TERCEL_TRY(checkRegionArgs(use, 0, carried));
  TERCEL_TRY(checkRegionResults(use, 0, pred));
  TERCEL_TRY(checkRegionArgs(use, 1, carried));
  TERCEL_TRY(checkRegionResults(use, 1, carried));
  return carried;
}

// The callee may not be complete while a module is being read: the declared types are believed
// here, and compared with the callee's signature by the verifier.
Result<Types> inferCall(const OpUse& use) {
  if (!use.declared.empty()) return declaredTypes(use);
  const Function* callee = use.module.find(use.symbol(AttrKey::callee));
  Types types;
  if (callee)
    for (Value v : use.module.region(callee->body).results) types.push_back(use.module.type(v));
  return types;
}

Result<Types> inferRngBitGenerator(const OpUse& use) {
  if (use.declared.size() != 2 || use.declared[0] != use.type(0) || use.declared[1].is_token)
    return use.error("needs two declared types, its state's and its output's, not ",
                     toString(use.declared));
  if (!isUnsigned(use.shape(0).dtype) || use.shape(0).rank() != 1)
    return use.error("the state is not a vector of unsigned integers");
  DType output = use.declared[1].shape.dtype;
  if (!isInteger(output) && !isFloat(output))
    return use.error("cannot give ", toString(use.declared[1]));
  std::string_view algorithm = use.symbol(AttrKey::rng_algorithm);
  if (algorithm != "DEFAULT" && algorithm != "THREE_FRY" && algorithm != "PHILOX")
    return use.error("rng_algorithm is '", algorithm, "', not DEFAULT THREE_FRY PHILOX");
  return declaredTypes(use);
}

Result<Types> inferAfterAll(const OpUse& use) {
  for (size_t i = 0; i < use.count(); ++i)
    if (!use.type(i).is_token) return use.error("operand ", i, " is not a token");
  return Types{Type::token()};
}

Result<Types> inferGetDimensionSize(const OpUse& use) {
  TERCEL_TRY(checkInRange(use, AttrKey::dimension, use.shape(0).rank()));
  return oneType(DType::s32, {});
}

}  // namespace

Result<Types> inferControl(const OpUse& use) {
  switch (use.kind) {
    case OpKind::call_:
    case OpKind::composite_:
      return inferCall(use);
    case OpKind::case_:
      return inferBranches(use, DType::s32);
    case OpKind::if_:
      return inferBranches(use, DType::pred);
    case OpKind::while_:
      return inferWhile(use);
    case OpKind::custom_call_:
      return declaredTypes(use);
    case OpKind::optimization_barrier_:
      return operandTypes(use);
    default:
      return internalError(opName(use.kind), " has no inference rule");
  }
}

Result<Types> inferOther(const OpUse& use) {
  switch (use.kind) {
    case OpKind::after_all_:
      return inferAfterAll(use);
    case OpKind::get_dimension_size_:
      return inferGetDimensionSize(use);
    case OpKind::rng_bit_generator_:
      return inferRngBitGenerator(use);
    default:
      return internalError(opName(use.kind), " has no inference rule");
  }
}

}  // namespace tercel::ir
