// ApproxTopK: the first numbers of an array along one dimension, in an order that a function gives,
// with what stands beside them in other arrays. We leave nothing out: a sort and its beginning.
#include "compiler/ir/builder.h"
#include "compiler/stablehlo/module_builder.h"
#include "compiler/stablehlo/wire_access.h"

namespace tercel::stablehlo {
namespace {

bool fits(const Shape& part, const Shape& whole, int64_t dimension) {
  if (part.dtype != whole.dtype || part.rank() != whole.rank()) return false;
  for (int64_t i = 0; i < whole.rank(); ++i) {
    const auto d = static_cast<size_t>(i);
    if (i == dimension ? part.dims[d] > whole.dims[d] : part.dims[d] != whole.dims[d]) return false;
  }
  return true;
}

// Of two numbers of each array: a call of `comparator`.
ir::RegionId comparing(ir::Module& module, std::span<const ir::Value> arrays,
                       std::string_view comparator, ir::LocId loc) {
  const ir::RegionId region = module.addRegion();
  ir::Values args;
  for (ir::Value array : arrays)
    for (int side = 0; side < 2; ++side)
      args.push_back(module.addArg(region, {Shape{module.shape(array).dtype, {}}}));
  const ir::Type pred{Shape{DType::pred, {}}};
  const ir::OpId call = ir::Builder(module, region, loc)
                            .append(ir::OpKind::call_, args, {&pred, 1},
                                    {{ir::AttrKey::callee, std::string(comparator)}});
  module.region(region).results = module.op(call).results;
  return region;
}

}  // namespace

bool ModuleBuilder::isApproxTopK(const OpRow& row, const OpAttrs& attrs) const {
  if (row.kind != ir::OpKind::custom_call_) return false;
  std::string_view target = textOf(wire_, attrNamed(row, attrs, "call_target_name")).value_or("");
  return target == "ApproxTopK" || target == "stablehlo.dynamic_approx_top_k";
}

// Operands: the arrays, then of each the number that stands for none; k behind them is known from
// the results.
Status ModuleBuilder::buildApproxTopK(const WireOp& op, const OpRow& row, const OpAttrs& attrs,
                                      Block& block) {
  const ir::Values operands = operandsOf(op);
  const auto functions = listOf(wire_, attrNamed(row, attrs, "called_computations"));
  const std::string_view comparator =
      functions && functions->size() == 1 ? textOf(wire_, (*functions)[0]).value_or("") : "";
  const int64_t dimension =
      integerOf(wire_, entryOf(wire_, entryOf(wire_, op.attrs, "mhlo.backend_config"),
                               "reduction_dim")).value_or(-1);
  TERCEL_TRY(takeResults(op));
  const std::vector<ir::Type> types = result_types_;
  if (types.empty() || operands.size() < 2 * types.size() || comparator.empty() || dimension < 0)
    return invalidArgument("a wrong ApproxTopK");
  const std::span<const ir::Value> arrays(operands.begin(), types.size());
  std::vector<ir::Type> sorted;
  for (size_t i = 0; i < types.size(); ++i) {
    sorted.push_back(module_.type(arrays[i]));
    if (types[i].is_token || sorted[i].is_token || dimension >= sorted[i].shape.rank() ||
        !fits(types[i].shape, sorted[i].shape, dimension))
      return invalidArgument("an ApproxTopK whose results are no parts of its operands");
  }
  ir::LocId loc;
  TERCEL_TRY(locations_.id(op.location, &loc));
  ir::Builder b(module_, block.region, loc);
  const ir::OpId sort =
      b.append(ir::OpKind::sort_, ir::Values(arrays), sorted,
               {{ir::AttrKey::dimension, dimension}, {ir::AttrKey::is_stable, true}});
  const ir::RegionId order = comparing(module_, arrays, comparator, loc);
  module_.op(sort).regions.push_back(order);
  const ir::Values all = module_.op(sort).results;
  for (size_t i = 0; i < types.size(); ++i) {
    const Dims& dims = types[i].shape.dims;
    values_.push_back(b.slice(all[i], ir::Ints(dims.size(), 0), ir::Ints(dims.begin(), dims.end()),
                              ir::Ints(dims.size(), 1)));
  }
  return {};
}

}  // namespace tercel::stablehlo
