// The ops that do not become the op of the same name: WIRE_FORM of op_map.def.
#include "compiler/stablehlo/module_builder.h"
#include "compiler/stablehlo/wire_access.h"

namespace tercel::stablehlo {
namespace {

// Of what the file says its results are.
bool makesShapes(OpForm form) {
  return form == OpForm::broadcast || form == OpForm::device_id || form == OpForm::einsum ||
         form == OpForm::index_select || form == OpForm::permute || form == OpForm::random;
}

}  // namespace

Status ModuleBuilder::buildForm(const WireOp& op, const OpRow& row, const OpAttrs& attrs,
                                Block& block) {
  if (refines_ && makesShapes(row.form)) TERCEL_TRY(requireSizes(op));
  switch (row.form) {
    case OpForm::broadcast: return buildBroadcast(op, row, attrs, block);
    case OpForm::device_id:
      TERCEL_TRY(requireOneDevice());
      return buildDeviceId(op, block);
    case OpForm::dot: return buildDot(op, row, attrs, block);
    case OpForm::dynamic: return buildDynamic(op, row, attrs, block);
    case OpForm::dropped: return bind(op.results, {});
    case OpForm::einsum: return buildEinsum(op, row, attrs, block);
    case OpForm::index_select: return buildIndexSelect(op, row, attrs, block);
    case OpForm::inlined:
      TERCEL_TRY(requireOneDevice());
      return buildInlined(op, block);
    case OpForm::one_device:
      TERCEL_TRY(requireOneDevice());
      return bind(op.results, operandsOf(op));
    case OpForm::permute:
      TERCEL_TRY(requireOneDevice());
      return buildPermute(op, row, attrs, block);
    case OpForm::random: return buildRandom(op, row, attrs, block);
    case OpForm::returns: return buildReturn(op, block);
    case OpForm::same:
    case OpForm::tuple: return bind(op.results, operandsOf(op));
    case OpForm::tuple_element: return buildTupleElement(op, row, attrs);
    default: return unimplemented("this op inside of functions");
  }
}

Status ModuleBuilder::requireOneDevice() const {
  if (one_device_) return {};
  return unimplemented("this op in a program for ", module_.num_partitions * module_.num_replicas,
                       " devices");
}

// The operand behind new leading dimensions.
Status ModuleBuilder::buildBroadcast(const WireOp& op, const OpRow& row, const OpAttrs& attrs,
                                     Block& block) {
  ir::Values operands = operandsOf(op);
  TERCEL_TRY(checkArity(op, ir::OpKind::broadcast_in_dim_, operands.size()));
  ir::Ints sizes;
  TERCEL_TRY(attrs_.ints(attrNamed(row, attrs, "broadcast_sizes"), &sizes));
  ir::Ints dimensions;
  for (int64_t i = 0; i < module_.shape(operands[0]).rank(); ++i)
    dimensions.push_back(static_cast<int64_t>(sizes.size()) + i);
  ir::OpId id;
  TERCEL_TRY(append(op, ir::OpKind::broadcast_in_dim_, operands, block, &id));
  module_.op(id).set(ir::AttrKey::broadcast_dimensions, std::move(dimensions));
  return {};
}

// The last dimension of the left operand with the first of the right one.
Status ModuleBuilder::buildDot(const WireOp& op, const OpRow& row, const OpAttrs& attrs,
                               Block& block) {
  ir::Values operands = operandsOf(op);
  TERCEL_TRY(checkArity(op, ir::OpKind::dot_general_, operands.size()));
  int64_t rank = module_.shape(operands[0]).rank();
  if (rank < 1 || module_.shape(operands[1]).rank() < 1)
    return invalidArgument("a dot of scalars");
  ir::OpId id;
  TERCEL_TRY(append(op, ir::OpKind::dot_general_, operands, block, &id));
  ir::Op& built = module_.op(id);
  built.set(ir::AttrKey::lhs_batching_dimensions, ir::Ints{});
  built.set(ir::AttrKey::rhs_batching_dimensions, ir::Ints{});
  built.set(ir::AttrKey::lhs_contracting_dimensions, ir::Ints{rank - 1});
  built.set(ir::AttrKey::rhs_contracting_dimensions, ir::Ints{0});
  return attrs_.convert(row.attrs[0], attrs.index[0], built);
}

Status ModuleBuilder::buildDeviceId(const WireOp& op, Block& block) {
  ir::OpId id;
  TERCEL_TRY(append(op, ir::OpKind::constant_, {}, block, &id));
  ir::Op& built = module_.op(id);
  if (built.results.size() != 1 || module_.type(built.result()).is_token)
    return invalidArgument("a device id that is no number");
  built.set(ir::AttrKey::value, ir::Literal::splatOf(module_.shape(built.result()), 0));
  return {};
}

// One device sends to itself, or nothing arrives: zeros.
Status ModuleBuilder::buildPermute(const WireOp& op, const OpRow& row, const OpAttrs& attrs,
                                   Block& block) {
  ir::Values operands = operandsOf(op);
  ir::Ints pairs;
  TERCEL_TRY(attrs_.ints(attrNamed(row, attrs, "source_target_pairs"), &pairs));
  if (pairs == ir::Ints{0, 0}) return bind(op.results, operands);
  if (!pairs.empty()) return invalidArgument("a permutation of more devices than there are");
  return buildDeviceId(op, block);
}

Status ModuleBuilder::buildInlined(const WireOp& op, Block& block) {
  if (op.regions.count != 1 || !wire_.regions[op.regions.begin].has_block)
    return invalidArgument("an op without a body");
  const WireRegion& body = wire_.regions[op.regions.begin];
  TERCEL_TRY(bind(body.args, operandsOf(op)));
  Block inner{.region = block.region};
  TERCEL_TRY(buildBlock(body, inner));
  return bind(op.results, inner.results);
}

Status ModuleBuilder::buildTupleElement(const WireOp& op, const OpRow& row, const OpAttrs& attrs) {
  std::span<const uint32_t> operands = wire_.operandsOf(op);
  std::optional<int64_t> index = integerOf(wire_, attrNamed(row, attrs, "index"));
  if (operands.size() != 1 || !index) return invalidArgument("a wrong tuple element");
  const WireType& tuple = wire_.types[wire_.value_types[operands[0]]];
  std::span<const uint32_t> types = wire_.itemsOf(tuple.items);
  if (tuple.kind != TypeKind::Tuple || *index < 0 || *index >= static_cast<int64_t>(types[0]))
    return invalidArgument("an element of no tuple or not in it");
  TERCEL_TRY(spendValues(static_cast<size_t>(*index)));
  Range slot = slots_[operands[0]];
  std::span<const ir::Type> leaves;
  for (int64_t i = 0; i < *index; ++i) {
    TERCEL_TRY(types_.leaves(types[static_cast<size_t>(1 + i)], &leaves));
    slot.begin += static_cast<uint32_t>(leaves.size());
  }
  TERCEL_TRY(types_.leaves(types[static_cast<size_t>(1 + *index)], &leaves));
  ir::Values element(std::span<const ir::Value>(values_).subspan(slot.begin, leaves.size()));
  return bind(op.results, element);
}

Status ModuleBuilder::buildReturn(const WireOp& op, Block& block) {
  if (op.results.count != 0 || op.regions.count != 0) return invalidArgument("a wrong return");
  block.results = operandsOf(op);
  block.closed = true;
  return block.results.size() > op.operands.count ? spendValues(block.results.size()) : Status();
}

}  // namespace tercel::stablehlo
