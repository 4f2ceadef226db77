// Custom calls. A layout that is not row-major becomes transposes around the call, so that each
// value lies in memory as its type says.
#include <algorithm>

#include "compiler/ir/custom_call.h"
#include "compiler/stablehlo/module_builder.h"
#include "compiler/stablehlo/wire_access.h"

namespace tercel::stablehlo {
namespace {

// Of a list; nothing where there is none.
std::span<const uint32_t> itemsOf(const WireModule& wire, uint32_t attr) {
  if (attr == kNone) return {};
  auto list = listOf(wire, attr);
  if (!list) return {};
  return *list;
}

void setLayouts(ir::Op& op, ir::AttrKey key, const std::vector<ir::Ints>& layouts) {
  if (std::ranges::all_of(layouts, isRowMajor)) return;
  ir::Ints all;
  for (const ir::Ints& layout : layouts) all.insert(all.end(), layout.begin(), layout.end());
  op.set(key, std::move(all));
}

}  // namespace

// One layout for each type, empty for a token.
Status ModuleBuilder::readLayouts(uint32_t attr, std::span<const ir::Type> types,
                                  std::vector<ir::Ints>& layouts) {
  std::span<const uint32_t> list = itemsOf(wire_, attr);
  layouts.resize(types.size());
  if (!list.empty() && list.size() != types.size())
    return unimplemented(list.size(), " layouts for ", types.size(), " values of a custom call");
  for (size_t i = 0; i < types.size(); ++i) {
    size_t rank = types[i].is_token ? 0 : types[i].shape.dims.size();
    if (!list.empty()) {
      TERCEL_TRY(attrs_.ints(list[i], &layouts[i]).within("layout"));
    } else {
      for (size_t d = rank; d-- > 0;) layouts[i].push_back(static_cast<int64_t>(d));
    }
    if (!isLayout(layouts[i], rank))
      return invalidArgument("a layout that is no order of the dimensions of its value");
  }
  return {};
}

// Of each: results, an operand, and where in its tuple; ours have no tuples.
Status ModuleBuilder::readAliases(uint32_t attr, ir::Op& built) {
  ir::Ints pairs;
  for (uint32_t item : itemsOf(wire_, attr)) {
    const WireAttr& alias = wire_.attrs[item];
    if (alias.kind != AttrKind::OutputOperandAlias)
      return invalidArgument("output_operand_aliases holds another attribute");
    std::span<const int64_t> numbers = wire_.intsOf(alias.ints);
    size_t outputs = static_cast<size_t>(numbers[0]);
    if (outputs > 1 || numbers[outputs + 2] != 0)
      return unimplemented("a custom call whose aliases are parts of tuples");
    pairs.push_back(outputs == 1 ? numbers[1] : 0);
    pairs.push_back(numbers[outputs + 1]);
  }
  if (!pairs.empty()) built.set(ir::AttrKey::output_operand_aliases, std::move(pairs));
  return {};
}

ir::Value ModuleBuilder::turned(ir::Value value, Dims dims, ir::Ints permutation, Block& block) {
  ir::Type type{Shape{module_.shape(value).dtype, std::move(dims)}, false};
  ir::OpId id = module_.addOp(ir::OpKind::transpose_, {value}, {&type, 1});
  module_.op(id).set(ir::AttrKey::permutation, std::move(permutation));
  module_.region(block.region).ops.push_back(id);
  return module_.op(id).result();
}

Status ModuleBuilder::buildCustomCall(const WireOp& op, const OpRow& row, const OpAttrs& attrs,
                                      Block& block) {
  if (op.regions.count != 0) return invalidArgument("a custom call with regions");
  std::string_view target = textOf(wire_, attrNamed(row, attrs, "call_target_name")).value_or("");
  // JAX's wish that one op be scheduled before another.
  if (target == "control_dep") return bind(op.results, {});
  if (BuildForeign build = foreignCalled(target))
    return buildForeignCall(op, row, attrs, target, build, block);
  ir::Values operands = operandsOf(op);
  TERCEL_TRY(takeResults(op));
  TERCEL_TRY(spendValues(2 * (operands.size() + result_types_.size())));
  std::vector<ir::Type> operand_types;
  for (ir::Value v : operands) operand_types.push_back(module_.type(v));
  // Nobody is shown the values of this one: its layouts are what it asks of the memory of arrays.
  bool shown = target != "LayoutConstraint";
  auto layouts = [&](std::string_view name) { return shown ? attrNamed(row, attrs, name) : kNone; };
  CallLayouts call;
  TERCEL_TRY(readLayouts(layouts("operand_layouts"), operand_types, call.operands));
  TERCEL_TRY(readLayouts(layouts("result_layouts"), result_types_, call.results));
  if (refines_) TERCEL_TRY(takeCallShapes(op, target, operands));
  call.operands.resize(operands.size());
  for (size_t i = 0; i < operands.size(); ++i) {
    const ir::Ints& layout = call.operands[i];
    if (isRowMajor(layout)) continue;
    operands[i] = turned(operands[i], memoryOrder(operand_types[i].shape.dims, layout),
                         toMemory(layout), block);
  }
  ir::OpId id;
  TERCEL_TRY(appendCall(op, row, attrs, std::move(operands), call, block, &id));
  const ir::Values results = module_.op(id).results;  // the op moves when others are added
  for (size_t i = 0; i < results.size(); ++i) {
    const ir::Ints& layout = call.results[i];
    values_.push_back(isRowMajor(layout) ? results[i]
                                         : turned(results[i], result_types_[i].shape.dims,
                                                  fromMemory(layout), block));
  }
  return {};
}

// The call itself, on values as they lie in memory.
Status ModuleBuilder::appendCall(const WireOp& op, const OpRow& row, const OpAttrs& attrs,
                                 ir::Values operands, const CallLayouts& layouts, Block& block,
                                 ir::OpId* id) {
  std::vector<ir::Type> types = result_types_;
  for (size_t i = 0; i < types.size(); ++i) {
    const ir::Ints& layout = layouts.results[i];
    if (!isRowMajor(layout)) types[i].shape.dims = memoryOrder(types[i].shape.dims, layout);
  }
  *id = module_.addOp(row.kind, std::move(operands), types);
  ir::Op& built = module_.op(*id);
  TERCEL_TRY(locations_.id(op.location, &built.loc));
  module_.region(block.region).ops.push_back(*id);
  for (size_t i = 0; i < row.attrs.size(); ++i)
    TERCEL_TRY(attrs_.convert(row.attrs[i], attrs.index[i], built));
  TERCEL_TRY(readConfiguration(op, built));
  setLayouts(built, ir::AttrKey::operand_layouts, layouts.operands);
  setLayouts(built, ir::AttrKey::result_layouts, layouts.results);
  return readAliases(attrNamed(row, attrs, "output_operand_aliases"), built);
}

// JAX and versions before 1.3.0 keep a typed call's attributes beside it, and JAX a text.
Status ModuleBuilder::readConfiguration(const WireOp& op, ir::Op& built) {
  if (built.symbol(ir::AttrKey::call_target_name) == ir::kShapeAssertion) {
    constexpr OpAttr kMessage = {"error_message", AttrRule::text, ir::AttrKey::backend_config, {}};
    uint32_t message = entryOf(wire_, op.attrs, "error_message");
    return message == kNone ? Status() : attrs_.convert(kMessage, message, built);
  }
  uint32_t config = entryOf(wire_, op.attrs, "mhlo.backend_config");
  if (config == kNone || built.has(ir::AttrKey::backend_config)) return {};
  constexpr OpAttr kRule = {"mhlo.backend_config", AttrRule::dictionary,
                            ir::AttrKey::backend_config, {}};
  return attrs_.convert(kRule, config, built);
}

}  // namespace tercel::stablehlo
