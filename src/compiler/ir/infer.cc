#include "compiler/ir/infer.h"

#include "compiler/ir/infer_rules.h"

namespace tercel::ir {
namespace {

bool takesTokens(OpKind kind) {
  return opClass(kind) == OpClass::control || kind == OpKind::after_all_;
}

Status checkArity(const OpUse& use) {
  int operands = opOperandCount(use.kind), regions = opRegionCount(use.kind);
  if (operands >= 0 && use.count() != static_cast<size_t>(operands))
    return use.error("has ", use.count(), " operands, expected ", operands);
  if (regions >= 0 && use.regions.size() != static_cast<size_t>(regions))
    return use.error("has ", use.regions.size(), " regions, expected ", regions);
  return {};
}

Status checkAttrKinds(const OpUse& use) {
  for (const auto& [key, attr] : use.attrs)
    if (attr.index() != static_cast<size_t>(attrKind(key)))
      return use.error("attribute ", attrName(key), " has a value of another kind");
  return {};
}

Status checkTokens(const OpUse& use) {
  if (takesTokens(use.kind)) return {};
  for (size_t i = 0; i < use.count(); ++i)
    if (use.type(i).is_token) return use.error("operand ", i, " is a token");
  return {};
}

Result<Types> inferByGroup(const OpUse& use) {
  switch (opClass(use.kind)) {
    case OpClass::unary:
    case OpClass::binary:
      return inferElementwise(use);
    case OpClass::ternary:
      return use.kind == OpKind::map_ ? inferMap(use) : inferElementwise(use);
    case OpClass::source:
      return inferSource(use);
    case OpClass::shape:
      return inferMovement(use);
    case OpClass::reduce:
      return inferReduction(use);
    case OpClass::contract:
      return use.kind == OpKind::convolution_ ? inferConvolution(use) : inferDotGeneral(use);
    case OpClass::index:
      return use.kind == OpKind::gather_ ? inferGather(use) : inferScatter(use);
    case OpClass::control:
      return inferControl(use);
    case OpClass::other:
      return use.kind == OpKind::sort_ ? inferSort(use) : inferOther(use);
  }
  __builtin_unreachable();
}

Status checkInferred(const OpUse& use, std::span<const Type> types) {
  for (const Type& type : types)
    if (!sizeIsRepresentable(type.shape.dims, byteSize(type.shape.dtype)))
      return use.error("the result ", toString(type), " is too large");
  if (use.declared.empty() || std::ranges::equal(types, use.declared)) return {};
  return use.error("its types are ", toString(types), ", not the declared ",
                   toString(use.declared));
}

}  // namespace

Result<std::vector<Type>> inferTypes(const Module& module, OpKind kind,
                                     std::span<const Value> operands,
                                     std::span<const std::pair<AttrKey, Attr>> attrs,
                                     std::span<const RegionId> regions,
                                     std::span<const Type> declared) {
  OpUse use{module, kind, operands, attrs, regions, declared};
  TERCEL_TRY(checkArity(use));
  TERCEL_TRY(checkAttrKinds(use));
  TERCEL_TRY(checkTokens(use));
  TERCEL_ASSIGN(Types types, inferByGroup(use));
  TERCEL_TRY(checkInferred(use, types));
  return types;
}

}  // namespace tercel::ir
