// Ops that the wire allows more types than ours: products of two types, and scatters whose region
// computes in a wider type than the arrays'.
#include <algorithm>
#include <utility>

#include "compiler/ir/rename.h"
#include "compiler/stablehlo/module_builder.h"

namespace tercel::stablehlo {
namespace {

// That of two types of a product which holds the numbers of both, f32 where two floats do not; none
// where ours multiplies them as they are.
std::optional<DType> commonType(DType lhs, DType rhs) {
  if (lhs == rhs || (isInteger(lhs) && isInteger(rhs))) return {};
  if (isPred(lhs) || isPred(rhs)) return isPred(lhs) ? rhs : lhs;
  if (isComplex(lhs) || isComplex(rhs)) {
    const auto isWide = [](DType t) { return t == DType::c128 || t == DType::f64; };
    return isWide(lhs) || isWide(rhs) ? DType::c128 : DType::c64;
  }
  if (!isFloat(lhs) || !isFloat(rhs)) {
    const DType number = isFloat(lhs) ? lhs : rhs;
    return isSmall(number) ? DType::f32 : number;
  }
  if (byteSize(lhs) == byteSize(rhs) || (isSmall(lhs) && isSmall(rhs))) return DType::f32;
  return byteSize(lhs) > byteSize(rhs) ? lhs : rhs;
}

// The type that a product's terms are added up in where its result's has not all of their digits,
// or is complex and they are not. Its result is converted then.
std::optional<DType> otherSumType(DType operand, DType result) {
  if (isComplex(operand) != isComplex(result))
    return isComplex(operand) || (isFloat(operand) && !isSmall(operand)) ? operand
                                                                          : realPart(result);
  if (!isFloat(operand) || operand == result) return {};
  if (isInteger(result) || isPred(result)) return operand;
  const bool is_narrower = isFloat(result) && byteSize(result) <= byteSize(operand);
  return is_narrower && !isSmall(operand) ? std::optional(operand) : std::nullopt;
}

bool isPromotable(DType from, DType to) {
  return dtypeClass(from) == dtypeClass(to) && bitWidth(from) <= bitWidth(to);
}

}  // namespace

ir::Value ModuleBuilder::converted(ir::Value v, DType to, Block& block, ir::LocId loc) {
  const ir::Type type{Shape{to, module_.shape(v).dims}, false};
  const ir::OpId id = module_.addOp(ir::OpKind::convert_, {v}, {&type, 1});
  module_.op(id).loc = loc;
  module_.region(block.region).ops.push_back(id);
  return module_.op(id).result();
}

void ModuleBuilder::widenNarrower(ir::Values& operands, Block& block) {
  if (std::ranges::any_of(operands, [&](ir::Value v) { return module_.type(v).is_token; })) return;
  const auto common =
      commonType(module_.shape(operands[0]).dtype, module_.shape(operands[1]).dtype);
  if (!common) return;
  for (ir::Value& operand : operands)
    if (module_.shape(operand).dtype != *common) operand = converted(operand, *common, block);
}

void ModuleBuilder::convertProduct(ir::OpId id, Block& block) {
  if (module_.op(id).results.size() != 1) return;  // the verifier's to refuse
  const ir::Value sums = module_.op(id).result();
  const ir::Type type = module_.type(sums), operand = module_.type(module_.op(id).operand(0));
  if (type.is_token || operand.is_token) return;
  const auto other = otherSumType(operand.shape.dtype, type.shape.dtype);
  if (!other) return;
  module_.setType(sums, {Shape{*other, type.shape.dims}, false});
  values_.back() = converted(sums, type.shape.dtype, block, module_.op(id).loc);
}

std::optional<DType> ModuleBuilder::promoteScattered(ir::OpId id, Block& block) {
  const ir::OpKind kind = module_.op(id).kind;
  const bool selects = kind == ir::OpKind::select_and_scatter_;
  if (!selects && kind != ir::OpKind::scatter_) return {};
  const ir::Values operands = module_.op(id).operands, results = module_.op(id).results;
  if (results.empty() || operands.size() != 2 * results.size() + 1) return {};  // the verifier's
  std::optional<DType> before;
  std::vector<ir::OpId>& ops = module_.region(block.region).ops;
  ops.pop_back();
  for (size_t k = 0; k < operands.size(); ++k) {
    if (!selects && k == results.size()) continue;  // the indices
    const ir::Type from = module_.type(operands[k]);
    const ir::Type to = module_.type(results[k % (results.size() + 1) % results.size()]);
    if (from.is_token || to.is_token || from.shape.dtype == to.shape.dtype ||
        !isPromotable(from.shape.dtype, to.shape.dtype))
      continue;
    const ir::Value wide = converted(operands[k], to.shape.dtype, block, module_.op(id).loc);
    module_.op(id).operands[k] = wide;
    if (selects && k == 0) before = from.shape.dtype;
  }
  module_.region(block.region).ops.push_back(id);
  return before;
}

void ModuleBuilder::widenArgs(ir::RegionId region, DType from, DType to) {
  const std::vector<ir::OpId> ops = std::exchange(module_.region(region).ops, {});
  Block block{.region = region};
  ir::Renamed narrow;
  for (ir::Value arg : ir::Values(module_.region(region).args)) {
    const ir::Type given = module_.type(arg);
    if (given.is_token || given.shape.dtype != from) continue;
    narrow.emplace(arg.index, converted(arg, from, block));
    module_.setType(arg, {Shape{to, given.shape.dims}, false});
  }
  std::vector<ir::OpId> converts = std::exchange(module_.region(region).ops, ops);
  ir::rename(module_, region, narrow);
  std::vector<ir::OpId>& all = module_.region(region).ops;
  all.insert(all.begin(), converts.begin(), converts.end());
}

}  // namespace tercel::stablehlo
