// Ops whose shapes, or what stands in attributes otherwise, are operands: once a program's shapes
// are known they are constants.
#include <algorithm>

#include "compiler/ir/builder.h"
#include "compiler/ir/text.h"
#include "compiler/stablehlo/module_builder.h"

namespace tercel::stablehlo {
namespace {

bool isConstant(const ir::Module& module, ir::Value v) {
  const ir::Op* def = module.def(v);
  return def && def->kind == ir::OpKind::constant_;
}

}  // namespace

Status ModuleBuilder::buildDynamic(const WireOp& op, const OpRow& row, const OpAttrs& attrs,
                                   Block& block) {
  ir::Values operands = operandsOf(op);
  const auto own = static_cast<size_t>(ir::opOperandCount(row.kind));
  if (operands.size() <= own) return invalidArgument("too few operands");
  if (refines_ && row.kind == ir::OpKind::slice_ && operands.size() == 4 &&
      !isConstant(module_, operands[1]))
    return buildSliceAt(op, operands, block);
  ir::Values first;
  for (size_t i = 0; i < own; ++i) first.push_back(operands[i]);
  ir::OpId id;
  TERCEL_TRY(append(op, row.kind, std::move(first), block, &id));
  ir::Op& built = module_.op(id);
  for (size_t i = 0; i < row.attrs.size(); ++i)
    TERCEL_TRY(attrs_.convert(row.attrs[i], attrs.index[i], built));
  std::string_view names = row.given;
  for (size_t i = own; i < operands.size() && !names.empty(); ++i) {
    const std::string_view name = names.substr(0, names.find(' '));
    TERCEL_TRY(giveAttribute(built, operands[i], name));
    names.remove_prefix(std::min(names.size(), name.size() + 1));
  }
  if (!names.empty()) return invalidArgument("too few operands");
  if (refines_ && row.given.empty()) TERCEL_TRY(settleShape(built, operands[own]));
  return finishAttrs(id);
}

// A slice of known sizes at a place that is not: its limits are its starts and constants.
Status ModuleBuilder::buildSliceAt(const WireOp& op, const ir::Values& operands, Block& block) {
  const ir::Op* limits = module_.def(operands[2]);
  const bool adds = limits && limits->kind == ir::OpKind::add_;
  const size_t other = adds && limits->operand(0) == operands[1] ? 1 : 0;
  if (!adds || limits->operand(1 - other) != operands[1])
    return unimplemented("dynamic shapes: a slice whose sizes are not constants");
  Dims sizes, strides;
  TERCEL_TRY(shapeFrom(limits->operand(other), &sizes));
  TERCEL_TRY(shapeFrom(operands[3], &strides));
  const auto rank = static_cast<size_t>(module_.shape(operands[0]).rank());
  if (sizes.size() != rank || module_.shape(operands[1]).elements() != static_cast<int64_t>(rank))
    return invalidArgument("a slice of another rank");
  if (std::ranges::any_of(strides, [](int64_t s) { return s != 1; }))
    return unimplemented("dynamic shapes: a slice with strides at a place that is not known");
  ir::Builder b(module_, block.region);
  ir::Values own = {operands[0]};
  for (int64_t d = 0; d < static_cast<int64_t>(rank); ++d)
    own.push_back(b.reshape(b.slice(operands[1], {d}, {d + 1}, {1}), {}));
  ir::OpId id;
  TERCEL_TRY(append(op, ir::OpKind::dynamic_slice_, std::move(own), block, &id));
  module_.op(id).set(ir::AttrKey::slice_sizes, ir::Ints(sizes.begin(), sizes.end()));
  return {};
}

Status ModuleBuilder::giveAttribute(ir::Op& built, ir::Value from, std::string_view name) const {
  const ir::Op* def = module_.type(from).is_token ? nullptr : module_.def(from);
  if (!def || def->kind != ir::OpKind::constant_ || !isInteger(module_.shape(from).dtype))
    return unimplemented("dynamic shapes: ", name, " that is not a constant");
  const ir::Literal& literal = def->literal();
  if (literal.shape().elements() > 2 * static_cast<int64_t>(kMaxRank))
    return invalidArgument(name, " of ", literal.shape().elements(), " elements");
  ir::Ints list;
  for (int64_t i = 0; i < literal.shape().elements(); ++i)
    list.push_back(static_cast<int64_t>(literal.number(i)));
  ir::AttrKey key;
  TERCEL_CHECK(ir::attrKeyFromName(name, &key), name);
  built.set(key, std::move(list));
  return {};
}

}  // namespace tercel::stablehlo
