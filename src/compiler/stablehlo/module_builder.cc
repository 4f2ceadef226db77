#include "compiler/stablehlo/module_builder.h"

#include "compiler/stablehlo/wire_access.h"
#include "compiler/stablehlo/wire_codes.h"

namespace tercel::stablehlo {
namespace {

// Attributes that versions before 1.1.0 lack.
void addMissing(ir::Op& op, std::initializer_list<ir::AttrKey> lists) {
  for (ir::AttrKey key : lists)
    if (!op.has(key)) op.attrs.emplace_back(key, ir::Ints{});
}

}  // namespace

ModuleBuilder::ModuleBuilder(const WireModule& wire, size_t artifact_bytes,
                             const GivenArguments& given)
    : wire_(wire),
      budget_(artifact_bytes),
      types_(wire, budget_),
      locations_(wire, budget_, module_),
      attrs_(wire, budget_, types_),
      slots_(wire.value_types.size()),
      given_(given) {
  for (const WireOpName& name : wire.op_names) rows_.push_back(findOp(name.dialect, name.name));
}

Status ModuleBuilder::build() {
  const WireRegion& top = wire_.regions[0];
  bool is_module = top.op_count == 1 && nameOf(wire_.ops[0]).dialect == "builtin" &&
                   nameOf(wire_.ops[0]).name == "module";
  if (!is_module) return invalidArgument("StableHLO artifact: its top level is not one module");
  return buildModule(wire_.ops[0]);
}

Status ModuleBuilder::buildBlock(const WireRegion& region, Block& block) {
  uint32_t id = region.ops;
  for (uint32_t i = 0; i < region.op_count; ++i, id = wire_.ops[id].end) {
    const WireOp& op = wire_.ops[id];
    if (block.closed) return located(op, invalidArgument("an op after its block's end"));
    if (Status status = buildOp(op, block); !status.ok()) return located(op, std::move(status));
  }
  if (!block.closed) return invalidArgument("a block that returns nothing");
  return {};
}

Status ModuleBuilder::buildRegion(const WireRegion& region, ir::RegionId* id,
                                  std::span<const ir::Type> given) {
  if (!region.has_block) return invalidArgument("an op with an empty region");
  Block block{.region = module_.addRegion()};
  *id = block.region;
  TERCEL_TRY(bindArgs(region.args, block.region, given));
  TERCEL_TRY(buildBlock(region, block));
  module_.region(block.region).results = std::move(block.results);
  return {};
}

Status ModuleBuilder::buildOp(const WireOp& op, Block& block) {
  const OpRow* row = rows_[op.name];
  if (row == nullptr || row->form == OpForm::refused) return refuse(op);
  OpAttrs attrs;
  TERCEL_TRY(attrs_.gather(op, *row, &attrs));
  TERCEL_TRY(row->form != OpForm::op ? buildForm(op, *row, attrs, block)
                                     : buildPlain(op, *row, attrs, block));
  return refines_ ? settle(op, block) : Status();
}

Status ModuleBuilder::buildPlain(const WireOp& op, const OpRow& row, const OpAttrs& attrs,
                                 Block& block) {
  ir::Values operands = operandsOf(op);
  if (isShardingCall(row, attrs)) return bind(op.results, operands);
  if (row.kind == ir::OpKind::custom_call_) return buildCustomCall(op, row, attrs, block);
  if (refines_ && (row.kind == ir::OpKind::call_ || row.kind == ir::OpKind::composite_))
    return buildInlinedCall(op, row, attrs, block);
  if (row.kind == ir::OpKind::call_)
    locations_.noteCall(textOf(wire_, attrNamed(row, attrs, "callee")).value_or(""), op.location);
  TERCEL_TRY(checkArity(op, row.kind, operands.size()));
  if (row.kind == ir::OpKind::dot_general_) widenNarrower(operands, block);
  ir::OpId id;
  TERCEL_TRY(append(op, row.kind, std::move(operands), block, &id));
  ir::Op& built = module_.op(id);
  built.attrs.reserve(row.attrs.size());
  for (size_t i = 0; i < row.attrs.size(); ++i)
    TERCEL_TRY(attrs_.convert(row.attrs[i], attrs.index[i], built));
  TERCEL_TRY(finishAttrs(id));
  if (row.kind == ir::OpKind::dot_general_ || row.kind == ir::OpKind::convolution_)
    convertProduct(id, block);
  const auto before = promoteScattered(id, block);
  TERCEL_TRY(buildRegions(op, id));
  if (before)
    widenArgs(module_.op(id).regions[0], *before, module_.shape(module_.op(id).operand(0)).dtype);
  return {};
}

Status ModuleBuilder::buildRegions(const WireOp& op, ir::OpId id) {
  std::vector<ir::Type> given;
  if (module_.op(id).kind == ir::OpKind::while_)
    for (ir::Value v : module_.op(id).operands) given.push_back(module_.type(v));
  for (uint32_t i = 0; i < op.regions.count; ++i) {
    ir::RegionId region;
    TERCEL_TRY(buildRegion(wire_.regions[op.regions.begin + i], &region, given));
    module_.op(id).regions.push_back(region);
  }
  return {};
}

Status ModuleBuilder::checkArity(const WireOp& op, ir::OpKind kind, size_t operands) const {
  int wanted = ir::opOperandCount(kind);
  if (wanted >= 0 && operands != static_cast<size_t>(wanted))
    return invalidArgument("an op of ", wanted, " operands has ", operands);
  wanted = ir::opRegionCount(kind);
  if (wanted < 0 || op.regions.count == static_cast<uint32_t>(wanted)) return {};
  if (kind == ir::OpKind::composite_) return unimplemented("a composite with regions");
  return invalidArgument("an op of ", wanted, " regions has ", op.regions.count);
}

Status ModuleBuilder::finishAttrs(ir::OpId id) {
  ir::Op& built = module_.op(id);
  if (built.kind == ir::OpKind::gather_)
    addMissing(built, {ir::AttrKey::operand_batching_dims,
                       ir::AttrKey::start_indices_batching_dims});
  if (built.kind == ir::OpKind::scatter_)
    addMissing(built, {ir::AttrKey::input_batching_dims,
                       ir::AttrKey::scatter_indices_batching_dims});
  if (built.kind == ir::OpKind::sort_ && !built.operands.empty()) {
    // -1, the last dimension, is the default of StableHLO's text form.
    int64_t dimension = built.integer(ir::AttrKey::dimension);
    if (dimension < 0)
      built.set(ir::AttrKey::dimension, dimension + module_.shape(built.operand(0)).rank());
  }
  return {};
}

// What JAX writes instead of sdy's ops when Shardy is switched off.
bool ModuleBuilder::isShardingCall(const OpRow& row, const OpAttrs& attrs) const {
  if (row.kind != ir::OpKind::custom_call_ || !one_device_) return false;
  std::string_view target = textOf(wire_, attrNamed(row, attrs, "call_target_name")).value_or("");
  return target == "Sharding" || target == "SPMDFullToShardShape" ||
         target == "SPMDShardToFullShape";
}

Status ModuleBuilder::append(const WireOp& op, ir::OpKind kind, ir::Values operands, Block& block,
                             ir::OpId* id) {
  TERCEL_TRY(takeResults(op));
  if (operands.size() > op.operands.count) TERCEL_TRY(spendValues(operands.size()));
  *id = module_.addOp(kind, std::move(operands), result_types_);
  ir::Op& built = module_.op(*id);
  TERCEL_TRY(locations_.id(op.location, &built.loc));
  module_.region(block.region).ops.push_back(*id);
  values_.insert(values_.end(), built.results.begin(), built.results.end());
  return {};
}

ir::Values ModuleBuilder::operandsOf(const WireOp& op) const {
  ir::Values operands;
  for (uint32_t value : wire_.operandsOf(op)) {
    Range slot = slots_[value];
    for (uint32_t i = 0; i < slot.count; ++i) operands.push_back(values_[slot.begin + i]);
  }
  return operands;
}

Status ModuleBuilder::takeResults(const WireOp& op) {
  result_types_.clear();
  for (uint32_t i = 0; i < op.results.count; ++i) {
    std::span<const ir::Type> leaves;
    TERCEL_TRY(types_.leaves(wire_.value_types[op.results.begin + i], &leaves));
    TERCEL_TRY(spendValues(leaves.size()));
    slots_[op.results.begin + i] = {static_cast<uint32_t>(values_.size() + result_types_.size()),
                                    static_cast<uint32_t>(leaves.size())};
    result_types_.insert(result_types_.end(), leaves.begin(), leaves.end());
  }
  return {};
}

Status ModuleBuilder::bindArgs(Range args, ir::RegionId region, std::span<const ir::Type> given) {
  for (uint32_t i = 0; i < args.count; ++i) {
    std::span<const ir::Type> leaves;
    TERCEL_TRY(types_.leaves(wire_.value_types[args.begin + i], &leaves));
    TERCEL_TRY(spendValues(leaves.size()));
    auto first = static_cast<uint32_t>(values_.size());
    for (const ir::Type& leaf : leaves) {
      const size_t number = module_.region(region).args.size();
      const bool is_given = hasUnknownSize(leaf) && number < given.size();
      const ir::Type& type = is_given ? given[number] : leaf;
      if (hasUnknownSize(type) || !fits(leaf, type))
        return invalidArgument("a block's argument of unknown or other size");
      values_.push_back(module_.addArg(region, type));
    }
    slots_[args.begin + i] = {first, static_cast<uint32_t>(leaves.size())};
  }
  return {};
}

Status ModuleBuilder::bind(Range wire_values, const ir::Values& values) {
  size_t next = 0;
  for (uint32_t i = 0; i < wire_values.count; ++i) {
    std::span<const ir::Type> leaves;
    TERCEL_TRY(types_.leaves(wire_.value_types[wire_values.begin + i], &leaves));
    TERCEL_TRY(spendValues(leaves.size()));
    auto first = static_cast<uint32_t>(values_.size());
    for (const ir::Type& type : leaves) {
      if (next == values.size() || !fits(type, module_.type(values[next])))
        return invalidArgument("values of other types than announced");
      values_.push_back(values[next++]);
    }
    slots_[wire_values.begin + i] = {first, static_cast<uint32_t>(leaves.size())};
  }
  if (next != values.size()) return invalidArgument("more values than announced");
  return {};
}

uint32_t ModuleBuilder::attrNamed(const OpRow& row, const OpAttrs& attrs,
                                  std::string_view name) const {
  for (size_t i = 0; i < row.attrs.size(); ++i)
    if (row.attrs[i].name == name) return attrs.index[i];
  return kNone;
}

Status ModuleBuilder::located(const WireOp& op, Status error) {
  if (is_located_) return error;
  is_located_ = true;
  std::string place = locations_.text(op.location);
  return error.within(place.empty() ? spelling(op) : cat(spelling(op), " at ", place));
}

// vhlo.add_v1 is stablehlo.add to its author, where the op is known.
std::string ModuleBuilder::spelling(const WireOp& op) const {
  const WireOpName& name = nameOf(op);
  if (name.dialect != "vhlo" || rows_[op.name] == nullptr) return cat(name.dialect, '.', name.name);
  return cat("stablehlo.", name.name.substr(0, name.name.rfind("_v")));
}

Status ModuleBuilder::refuse(const WireOp& op) const {
  std::string types;
  for (uint32_t value : wire_.operandsOf(op))
    types += cat(types.empty() ? "" : ", ", typeText(wire_, wire_.value_types[value]));
  return unimplemented("this op on (", types, ") is not supported by Tercel");
}

}  // namespace tercel::stablehlo
