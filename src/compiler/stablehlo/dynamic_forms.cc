// Ops whose shapes, or what stands in attributes otherwise, are operands: once a program's shapes
// are known they are constants.
#include "compiler/ir/text.h"
#include "compiler/stablehlo/module_builder.h"

namespace tercel::stablehlo {

Status ModuleBuilder::buildDynamic(const WireOp& op, const OpRow& row, const OpAttrs& attrs,
                                   Block& block) {
  ir::Values operands = operandsOf(op);
  const auto own = static_cast<size_t>(ir::opOperandCount(row.kind));
  if (operands.size() <= own) return invalidArgument("too few operands");
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
  return finishAttrs(id);
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
