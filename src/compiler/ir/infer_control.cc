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

Result<Types> inferFork(const OpUse& use) {
  Types types;
  for (size_t i = 0; i < use.regions.size(); ++i) {
    TERCEL_TRY(checkRegionArgs(use, i, {}));
    const Types own = regionResultTypes(use, i);
    types.insert(types.end(), own.begin(), own.end());
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

// One permutation for each array of `types`, or nothing at all.
Status checkLayouts(const OpUse& use, AttrKey key, std::span<const Type> types) {
  std::span<const int64_t> layouts = use.ints(key);
  if (layouts.empty()) return {};
  for (const Type& type : types) {
    size_t rank = type.is_token ? 0 : type.shape.dims.size();
    if (layouts.size() < rank) return use.error(attrName(key), " has too few dimensions");
    for (int64_t d = 0; d < static_cast<int64_t>(rank); ++d)
      if (!contains(layouts.first(rank), d))
        return use.error(attrName(key), " is no order of the dimensions of ", toString(type));
    layouts = layouts.subspan(rank);
  }
  return layouts.empty() ? Status() : use.error(attrName(key), " has too many dimensions");
}

Status checkAliases(const OpUse& use) {
  const Ints& pairs = use.ints(AttrKey::output_operand_aliases);
  for (size_t i = 0; i < pairs.size(); i += 2) {
    bool known = i + 1 < pairs.size() && pairs[i] >= 0 && pairs[i + 1] >= 0 &&
                 pairs[i] < static_cast<int64_t>(use.declared.size()) &&
                 pairs[i + 1] < static_cast<int64_t>(use.count());
    for (size_t k = 0; k < i && known; k += 2)
      known = pairs[k] != pairs[i] && pairs[k + 1] != pairs[i + 1];
    if (!known) return use.error("output_operand_aliases are no pairs of a result and an operand");
    const Type& result = use.declared[static_cast<size_t>(pairs[i])];
    const Type& operand = use.type(static_cast<size_t>(pairs[i + 1]));
    if (result != operand)
      return use.error("result ", pairs[i], " cannot lie in the memory of operand ", pairs[i + 1]);
  }
  return {};
}

Result<Types> inferCustomCall(const OpUse& use) {
  std::vector<Type> operands;
  for (size_t i = 0; i < use.count(); ++i) operands.push_back(use.type(i));
  TERCEL_TRY(checkLayouts(use, AttrKey::operand_layouts, operands));
  TERCEL_TRY(checkLayouts(use, AttrKey::result_layouts, use.declared));
  TERCEL_TRY(checkAliases(use));
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
    case OpKind::fork_:
      return inferFork(use);
    case OpKind::while_:
      return inferWhile(use);
    case OpKind::custom_call_:
      return inferCustomCall(use);
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
    case OpKind::batch_norm_grad_:
    case OpKind::batch_norm_inference_:
    case OpKind::batch_norm_training_:
      return inferBatchNorm(use);
    case OpKind::cholesky_:
      return inferCholesky(use);
    case OpKind::fft_:
      return inferFft(use);
    case OpKind::get_dimension_size_:
      return inferGetDimensionSize(use);
    case OpKind::rng_bit_generator_:
      return inferRngBitGenerator(use);
    case OpKind::triangular_solve_:
      return inferTriangularSolve(use);
    default:
      return internalError(opName(use.kind), " has no inference rule");
  }
}

}  // namespace tercel::ir
