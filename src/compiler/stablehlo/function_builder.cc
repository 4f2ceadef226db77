// The module and its functions: names, signatures and what JAX notes on arguments and results.
#include <algorithm>

#include "compiler/stablehlo/attr_text.h"
#include "compiler/stablehlo/module_builder.h"
#include "compiler/stablehlo/wire_access.h"

namespace tercel::stablehlo {
namespace {

constexpr int64_t kMaxDevices = 1 << 24;

// In properties: sym_name and sym_visibility, both optional. In old files: in the dictionary.
std::string_view moduleName(const WireModule& wire, const WireOp& op) {
  uint32_t attr = entryOf(wire, op.attrs, "sym_name");
  if (!op.properties.empty()) {
    ErrorSink sink;
    bool is_present = false;
    uint64_t index = ByteCursor(op.properties, wire.origin, sink).varintWithFlag(&is_present);
    if (sink.ok() && is_present && index < wire.attrs.size()) attr = static_cast<uint32_t>(index);
  }
  return textOf(wire, attr).value_or("");
}

}  // namespace

Status ModuleBuilder::buildModule(const WireOp& op) {
  std::string_view name = moduleName(wire_, op);
  if (!name.empty()) module_.name = name;
  uint32_t partitions = entryOf(wire_, op.attrs, "mhlo.num_partitions");
  uint32_t replicas = entryOf(wire_, op.attrs, "mhlo.num_replicas");
  module_.num_partitions = integerOf(wire_, partitions).value_or(1);
  module_.num_replicas = integerOf(wire_, replicas).value_or(1);
  for (int64_t devices : {module_.num_partitions, module_.num_replicas})
    if (devices < 1 || devices > kMaxDevices)
      return invalidArgument("StableHLO artifact: a program for ", devices, " devices");
  one_device_ = module_.num_partitions == 1 && module_.num_replicas == 1;
  if (op.regions.count != 1) return invalidArgument("StableHLO artifact: a module without a body");
  refines_ = std::ranges::any_of(wire_.types, [&](const WireType& type) {
    return type.kind == TypeKind::Tensor &&
           std::ranges::any_of(wire_.intsOf(type.ints).subspan(1), [](int64_t d) { return d < 0; });
  });
  if (refines_) types_.allowUnknownSizes();
  const WireRegion& body = wire_.regions[op.regions.begin];
  uint32_t id = body.ops;
  for (uint32_t i = 0; refines_ && i < body.op_count; ++i, id = wire_.ops[id].end)
    TERCEL_TRY(noteFunction(wire_.ops[id]));
  id = body.ops;
  for (uint32_t i = 0; i < body.op_count; ++i, id = wire_.ops[id].end) {
    Status status = buildTopLevelOp(wire_.ops[id]);
    if (!status.ok()) return located(wire_.ops[id], std::move(status));
  }
  return {};
}

Status ModuleBuilder::buildTopLevelOp(const WireOp& op) {
  const OpRow* row = rows_[op.name];
  if (row != nullptr && row->form == OpForm::dropped) return {};
  if (row == nullptr || row->form != OpForm::function)
    return unimplemented("this op outside of functions");
  OpAttrs attrs;
  TERCEL_TRY(attrs_.gather(op, *row, &attrs));
  return buildFunction(op, *row, attrs);
}

Status ModuleBuilder::buildFunction(const WireOp& op, const OpRow& row, const OpAttrs& attrs) {
  ir::Function function;
  TERCEL_TRY(readText(attrNamed(row, attrs, "sym_name"), function.name));
  if (function.name.empty()) return invalidArgument("a function without a name");
  std::optional<std::string_view> visibility =
      textOf(wire_, attrNamed(row, attrs, "sym_visibility"));
  if (!visibility) return invalidArgument("a function without a visibility");
  function.is_public = *visibility != "private" && *visibility != "nested";
  if (refines_ && function.name != "main") return {};
  uint32_t type = attrNamed(row, attrs, "function_type");
  if (op.regions.count != 1) return invalidArgument("a function without a body");
  locations_.enterFunction(function.name, op.location);
  // The body first: of a type that is not supported it knows the op.
  const WireRegion& body_ops = wire_.regions[op.regions.begin];
  std::vector<ir::Type> given;
  if (refines_) TERCEL_TRY(argumentTypes(body_ops, given));
  TERCEL_TRY(buildRegion(body_ops, &function.body, given));
  TERCEL_TRY(readSignature(function, type, attrNamed(row, attrs, "arg_attrs"),
                           attrNamed(row, attrs, "res_attrs")));
  const ir::Region& body = module_.region(function.body);
  if (body.args.size() != function.args.size() || body.results.size() != function.results.size())
    return invalidArgument("a function whose body disagrees with its type");
  module_.functions.push_back(std::move(function));
  return {};
}

// One ArgInfo and ResultInfo for each leaf: a tuple's leaves share what is said of the tuple.
Status ModuleBuilder::readSignature(ir::Function& function, uint32_t type, uint32_t arg_attrs,
                                    uint32_t result_attrs) {
  bool is_function = type != kNone && wire_.attrs[type].kind == AttrKind::Type &&
                     wire_.types[wire_.attrs[type].type].kind == TypeKind::Function;
  if (!is_function) return invalidArgument("a function without a function type");
  std::span<const uint32_t> all = wire_.itemsOf(wire_.types[wire_.attrs[type].type].items);
  std::span<const uint32_t> inputs = all.subspan(1, all[0]);
  std::span<const uint32_t> outputs = all.subspan(2 + inputs.size());
  auto arg_dicts = listOf(wire_, arg_attrs).value_or(std::span<const uint32_t>());
  auto result_dicts = listOf(wire_, result_attrs).value_or(std::span<const uint32_t>());
  std::span<const ir::Type> leaves;
  std::vector<Range> results;  // the leaves of each output
  for (size_t i = 0; i < outputs.size(); ++i) {
    TERCEL_TRY(types_.leaves(outputs[i], &leaves));
    ir::ResultInfo info;
    if (i < result_dicts.size())
      TERCEL_TRY(readPlacement(result_dicts[i], info.memory_kind, info.layout_mode, info.sharding));
    results.push_back({static_cast<uint32_t>(function.results.size()),
                       static_cast<uint32_t>(leaves.size())});
    TERCEL_TRY(budget_.spend(leaves.size() * (sizeof(info) + info.sharding.size())));
    function.results.insert(function.results.end(), leaves.size(), info);
  }
  for (size_t i = 0; i < inputs.size(); ++i) {
    TERCEL_TRY(types_.leaves(inputs[i], &leaves));
    ir::ArgInfo info;
    if (i < arg_dicts.size()) TERCEL_TRY(readArgInfo(arg_dicts[i], results, info));
    if (leaves.size() != 1) info.aliasing_output = -1;
    TERCEL_TRY(budget_.spend(leaves.size() * (sizeof(info) + info.sharding.size())));
    function.args.insert(function.args.end(), leaves.size(), info);
  }
  return {};
}

Status ModuleBuilder::readArgInfo(uint32_t dictionary, std::span<const Range> results,
                                  ir::ArgInfo& info) {
  TERCEL_TRY(readPlacement(dictionary, info.memory_kind, info.layout_mode, info.sharding));
  info.buffer_donor =
      boolOf(wire_, entryOf(wire_, dictionary, "jax.buffer_donor")).value_or(false);
  uint32_t alias = entryOf(wire_, dictionary, "tf.aliasing_output");
  if (alias == kNone) return {};
  std::optional<int64_t> output = integerOf(wire_, alias);
  if (!output || *output < 0 || *output >= static_cast<int64_t>(results.size()))
    return invalidArgument("tf.aliasing_output names no result");
  Range leaves = results[static_cast<size_t>(*output)];
  if (leaves.count == 1) info.aliasing_output = leaves.begin;
  return {};
}

Status ModuleBuilder::readPlacement(uint32_t dictionary, std::string& memory_kind,
                                    std::string& layout_mode, std::string& sharding) {
  TERCEL_TRY(readText(entryOf(wire_, dictionary, "mhlo.memory_kind"), memory_kind));
  TERCEL_TRY(readText(entryOf(wire_, dictionary, "mhlo.layout_mode"), layout_mode));
  TERCEL_TRY(readText(entryOf(wire_, dictionary, "mhlo.sharding"), sharding));
  uint32_t sdy = entryOf(wire_, dictionary, "sdy.sharding");
  if (sdy == kNone) return {};
  sharding.clear();
  return attrText(wire_, sdy, budget_, &sharding).within("sdy.sharding");
}

Status ModuleBuilder::readText(uint32_t attr, std::string& text) {
  std::optional<std::string_view> value = textOf(wire_, attr);
  if (!value) return {};
  TERCEL_TRY(budget_.spend(value->size()));
  text = *value;
  return {};
}

}  // namespace tercel::stablehlo
