// Programs that leave sizes of arrays open, as jax.export writes them for symbolic dimensions. Once
// those of main's arguments are given, each op's result types follow from its operands', and what
// is computed with sizes is a constant. Calls are inlined: of each, types and constants differ.
#include <algorithm>

#include "compiler/eval/evaluator.h"
#include "compiler/ir/infer.h"
#include "compiler/ir/text.h"
#include "compiler/ir/verifier.h"
#include "compiler/stablehlo/module_builder.h"
#include "compiler/stablehlo/wire_access.h"

namespace tercel::stablehlo {
namespace {

using ir::OpKind;

constexpr int kMaxCallDepth = 400;
constexpr int kMaxCalls = 1'000'000;
constexpr size_t kMaxOps = 8'000'000;  // calls can double what they reach at every level
constexpr int64_t kMaxSizes = 2 * kMaxRank;  // elements of what sizes are computed with

bool mayHoldSizes(const ir::Type& type) {
  const Shape& shape = type.shape;
  return !type.is_token && !hasUnknownSize(type) &&
         (isInteger(shape.dtype) || isPred(shape.dtype)) && shape.elements() <= kMaxSizes;
}

bool isFunctionOfOperands(const ir::Op& op) {
  return op.regions.empty() && op.kind != OpKind::custom_call_ &&
         op.kind != OpKind::optimization_barrier_ && op.kind != OpKind::rng_bit_generator_;
}

// Whether it has the dimensions of its operand, and the element type that is declared.
bool converts(OpKind kind) { return kind == OpKind::convert_ || kind == OpKind::bitcast_convert_; }

ir::Type withOpenSizes(ir::Type announced, const Dims& dims) {
  for (size_t d = 0; d < announced.shape.dims.size() && d < dims.size(); ++d)
    if (announced.shape.dims[d] == kUnknownSize) announced.shape.dims[d] = dims[d];
  return announced;
}

}  // namespace

Status ModuleBuilder::noteFunction(const WireOp& op) {
  const OpRow* row = rows_[op.name];
  if (row == nullptr || row->form != OpForm::function) return {};
  OpAttrs attrs;
  TERCEL_TRY(attrs_.gather(op, *row, &attrs));
  functions_.emplace(textOf(wire_, attrNamed(*row, attrs, "sym_name")).value_or(""), &op);
  return {};
}

Status ModuleBuilder::argumentTypes(const WireRegion& body, std::vector<ir::Type>& types) {
  const uint32_t platforms = given_.platform ? 1 : 0;  // an argument that has no number
  if (given_.dims.size() + platforms > body.args.count)
    return invalidArgument("shapes for ", given_.dims.size(), " arguments, where main has ",
                           body.args.count);
  for (uint32_t i = 0; i < body.args.count; ++i) {
    const uint32_t wire_type = wire_.value_types[body.args.begin + i];
    std::span<const ir::Type> leaves;
    TERCEL_TRY(types_.leaves(wire_type, &leaves));
    for (ir::Type type : leaves) {
      const ir::Type announced = type;
      const uint32_t number = i - platforms;
      if (number < given_.dims.size() && given_.dims[number])
        type.shape.dims = *given_.dims[number];
      if (hasUnknownSize(type))
        return failedPrecondition("argument", number, " of main is ", typeText(wire_, wire_type),
                                  ", some sizes of which are open, and its shape is not given");
      const bool is_possible = sizeIsRepresentable(type.shape.dims, byteSize(type.shape.dtype));
      if (!is_possible || !fits(announced, type))
        return invalidArgument("argument", number, " of main is ", typeText(wire_, wire_type),
                               ", which cannot be ", toString(type.shape));
      types.push_back(std::move(type));
    }
  }
  return {};
}

// A composite of one of our ops is that op, which its types need not say.
Status ModuleBuilder::buildInlinedCall(const WireOp& op, const OpRow& row, const OpAttrs& attrs,
                                       Block& block) {
  const bool is_call = row.kind == OpKind::call_;
  ir::Values operands = operandsOf(op);
  std::string_view name = textOf(wire_, attrNamed(row, attrs, "name")).value_or("");
  OpKind kind;
  if (!is_call && name.starts_with("chlo.") && ir::opKindFromName(name.substr(5), &kind) &&
      ir::opClass(kind) == ir::OpClass::unary && !converts(kind) && operands.size() == 1) {
    ir::OpId id;
    return append(op, kind, std::move(operands), block, &id);
  }
  const uint32_t callee = attrNamed(row, attrs, is_call ? "callee" : "decomposition");
  Block inner{.region = block.region};
  TERCEL_TRY(inlineFunction(textOf(wire_, callee).value_or(""), op, operands, inner));
  return bind(op.results, inner.results);
}

Status ModuleBuilder::inlineFunction(std::string_view name, const WireOp& call,
                                     const ir::Values& operands, Block& block) {
  const auto found = functions_.find(name);
  if (found == functions_.end()) return invalidArgument("no function named ", name);
  const WireOp& function = *found->second;
  if (function.regions.count != 1 || !wire_.regions[function.regions.begin].has_block)
    return invalidArgument("a function without a body");
  if (call_depth_ >= kMaxCallDepth)
    return unimplemented("calls nested too deeply, or a function that calls itself");
  if (++calls_ > kMaxCalls || module_.opCount() > kMaxOps)
    return resourceExhausted("more than ", kMaxOps, " ops or ", kMaxCalls, " calls");
  const WireRegion& body = wire_.regions[function.regions.begin];
  TERCEL_TRY(bind(body.args, operands));
  ++call_depth_;
  const Location outer = locations_.enterCall(function.location, call.location);
  TERCEL_TRY(buildBlock(body, block));
  locations_.leaveCall(outer);
  --call_depth_;
  return {};
}

Status ModuleBuilder::shapeFrom(ir::Value constant, Dims* dims) const {
  const ir::Op* def = module_.def(constant);
  if (!def || def->kind != OpKind::constant_ || !mayHoldSizes(module_.type(constant)))
    return unimplemented("dynamic shapes: a shape that is not known from the arguments'");
  const ir::Literal& sizes = def->literal();
  if (sizes.shape().rank() > 1 || sizes.shape().elements() > static_cast<int64_t>(kMaxRank))
    return invalidArgument("a shape that is no list of sizes");
  for (int64_t i = 0; i < sizes.shape().elements(); ++i) {
    dims->push_back(static_cast<int64_t>(sizes.number(i)));
    if (dims->back() < 0) return invalidArgument("a size of ", dims->back());
  }
  return {};
}

// The result has the sizes that an operand lists.
Status ModuleBuilder::settleShape(ir::Op& built, ir::Value sizes) {
  if (built.results.size() != 1 || !hasUnknownSize(module_.type(built.result()))) return {};
  ir::Type type = module_.type(built.result());
  const ir::Type announced = type;
  type.shape.dims = {};
  TERCEL_TRY(shapeFrom(sizes, &type.shape.dims));
  if (!fits(announced, type) || !sizeIsRepresentable(type.shape.dims, byteSize(type.shape.dtype)))
    return invalidArgument("its result cannot be ", toString(type.shape));
  module_.setType(built.result(), std::move(type));
  return {};
}

// Sets the sizes in result_types_ that a custom call's operands say, and drops those operands that
// nothing but results' shapes.
Status ModuleBuilder::takeCallShapes(const WireOp& op, std::string_view target,
                                     ir::Values& operands) {
  if (uint32_t attr = entryOf(wire_, op.attrs, "indices_of_shape_operands"); attr != kNone) {
    ir::Ints places;
    TERCEL_TRY(attrs_.ints(attr, &places));
    if (places.size() != result_types_.size() || places.size() > operands.size())
      return invalidArgument("a custom call with ", places.size(), " shapes of its ",
                             result_types_.size(), " results");
    const size_t own = operands.size() - places.size();
    for (size_t i = 0; i < places.size(); ++i) {
      if (places[i] != static_cast<int64_t>(own + i))
        return unimplemented("a custom call whose last operands are not its results' shapes");
      Dims dims;
      TERCEL_TRY(shapeFrom(operands[own + i], &dims));
      result_types_[i] = withOpenSizes(result_types_[i], dims);
    }
    operands = ir::Values(std::span<const ir::Value>(operands).first(own));
  } else if (target == "stablehlo.dynamic_rng_bit_generator" && operands.size() == 2 &&
             result_types_.size() == 2) {
    Dims dims;
    TERCEL_TRY(shapeFrom(operands[1], &dims));
    result_types_[1] = withOpenSizes(result_types_[1], dims);
  } else if (target == "stablehlo.dynamic_top_k" && operands.size() == 2) {
    TERCEL_TRY(shortenResults(operands[0], operands[1], module_.shape(operands[0]).rank() - 1));
  }
  return {};
}

// The results have the sizes of an operand, but `count` in one dimension.
Status ModuleBuilder::shortenResults(ir::Value operand, ir::Value count, int64_t dimension) {
  Dims sizes, dims = module_.shape(operand).dims;
  TERCEL_TRY(shapeFrom(count, &sizes));
  if (sizes.size() != 1 || dimension < 0 || dimension >= static_cast<int64_t>(dims.size()))
    return invalidArgument("a wrong number of elements");
  dims[static_cast<size_t>(dimension)] = sizes[0];
  for (ir::Type& type : result_types_) type = withOpenSizes(type, dims);
  return {};
}

Status ModuleBuilder::requireSizes(const WireOp& op) {
  TERCEL_TRY(takeResults(op));
  if (std::ranges::none_of(result_types_, hasUnknownSize)) return {};
  return unimplemented("dynamic shapes: this op with results whose sizes are open");
}

// After an op: its result types as its operands' make them, and its value where it is a size.
Status ModuleBuilder::settle(const WireOp& op, Block& block) {
  ir::Values made;
  for (uint32_t i = 0; i < op.results.count; ++i) {
    const Range slot = slots_[op.results.begin + i];
    for (uint32_t k = 0; k < slot.count; ++k) made.push_back(values_[slot.begin + k]);
  }
  if (made.empty() || !module_.value(made[0]).def.valid()) return {};
  const ir::OpId id = module_.value(made[0]).def;
  if (module_.op(id).results != made) return {};
  TERCEL_TRY(settleTypes(id));
  return foldSizes(op, id, block);
}

Status ModuleBuilder::settleTypes(ir::OpId id) {
  const ir::Op& op = module_.op(id);
  std::vector<ir::Type> announced;
  for (ir::Value v : op.results) announced.push_back(module_.type(v));
  if (std::ranges::none_of(announced, hasUnknownSize)) return {};
  std::vector<ir::Type> declared;
  if (converts(op.kind) && op.operands.size() == 1)
    declared = {withOpenSizes(announced[0], module_.shape(op.operand(0)).dims)};
  TERCEL_ASSIGN(std::vector<ir::Type> types, ir::inferTypes(module_, op.kind, op.operands, op.attrs,
                                                            op.regions, declared));
  if (types.size() != announced.size())
    return unimplemented("dynamic shapes: results whose sizes nothing says");
  for (size_t i = 0; i < types.size(); ++i) {
    types[i].shape.dtype = announced[i].shape.dtype;  // a product's may be declared
    if (!fits(announced[i], types[i]))
      return invalidArgument("its result cannot be ", toString(types[i].shape));
    module_.setType(op.result(i), types[i]);
  }
  return {};
}

Status ModuleBuilder::foldSizes(const WireOp& op, ir::OpId id, Block& block) {
  const ir::Op& built = module_.op(id);
  for (ir::Value v : built.results)
    if (!mayHoldSizes(module_.type(v))) return {};
  if (built.kind == OpKind::constant_) return ir::verifyUse(module_, built);
  eval::Literals operands, results;
  std::vector<ir::Type> types;
  for (ir::Value v : built.results) types.push_back(module_.type(v));
  const bool is_size = built.kind == OpKind::get_dimension_size_;
  for (ir::Value v : built.operands) {
    const ir::Op* def = module_.def(v);
    const bool is_known = def && def->kind == OpKind::constant_ && mayHoldSizes(module_.type(v));
    if (!is_size && !is_known) return {};
    if (is_known) operands.push_back(def->literal());
  }
  if (built.operands.empty() || !isFunctionOfOperands(built)) return {};
  // The evaluator and the line below take what is used rightly.
  TERCEL_TRY(ir::verifyUse(module_, built));
  if (is_size) {
    const auto d = static_cast<size_t>(built.integer(ir::AttrKey::dimension));
    results = {ir::Literal::scalar(static_cast<int32_t>(module_.shape(built.operand(0)).dims[d]))};
  } else {
    TERCEL_ASSIGN(results, eval::evaluateOp(module_, built, operands));
  }
  uint32_t at = slots_[op.results.begin].begin;
  for (size_t i = 0; i < results.size(); ++i) {
    const ir::OpId constant = module_.addOp(OpKind::constant_, {}, {&types[i], 1});
    module_.op(constant).set(ir::AttrKey::value, std::move(results[i]));
    module_.region(block.region).ops.push_back(constant);
    values_[at++] = module_.op(constant).result();
  }
  return {};
}

}  // namespace tercel::stablehlo
