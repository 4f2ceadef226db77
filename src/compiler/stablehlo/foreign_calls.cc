// Custom calls that JAX writes for other platforms, or where shapes were unknown, as ops of ours.
#include <algorithm>
#include <cmath>

#include "compiler/ir/builder.h"
#include "compiler/ir/text.h"
#include "compiler/stablehlo/lapack_calls.h"
#include "compiler/stablehlo/module_builder.h"
#include "compiler/stablehlo/reflectors.h"
#include "compiler/stablehlo/wire_access.h"

namespace tercel::stablehlo {
namespace {

using ir::AttrKey;
using ir::Builder;
using ir::OpKind;
using ir::Value;
using ir::Values;

Status wrong(std::string_view target) { return invalidArgument("a wrong custom call to ", target); }

bool isMatrix(const ir::Type& type) {
  return !type.is_token && type.shape.rank() >= 2 &&
         (isFloat(type.shape.dtype) || isComplex(type.shape.dtype)) && !isSmall(type.shape.dtype);
}

bool isFactorisable(const ir::Type& type) {
  return isMatrix(type) && byteSize(realPart(type.shape.dtype)) >= 4;
}

// [..., min(m, n)] of matrices [..., m, n]: as many as there are reflectors.
bool isTaus(const ir::Type& matrix, const ir::Type& type) {
  Dims dims(matrix.shape.dims.begin(), matrix.shape.dims.end() - 2);
  const int64_t m = matrix.shape.dims[dims.size()], n = matrix.shape.dims[dims.size() + 1];
  dims.push_back(type.is_token || type.shape.rank() == 0 ? -1 : type.shape.dims.back());
  return type == ir::Type{Shape{matrix.shape.dtype, dims}, false} && dims.back() >= 0 &&
         dims.back() <= std::min(m, n);
}

Value zeros(Builder& b, const ir::Type& type) { return b.splat(type.shape, 0); }

// The first of each line, in the order that `comparator` makes of two elements of each operand.
Values firstSorted(Builder& b, Values operands, int64_t dimension, ir::RegionId comparator,
                   const std::vector<ir::Type>& results) {
  std::vector<ir::Type> types;
  for (Value v : operands) types.push_back(b.module().type(v));
  const ir::OpId sort =
      b.append(OpKind::sort_, std::move(operands), types,
               {{AttrKey::dimension, dimension}, {AttrKey::is_stable, true}});
  b.module().op(sort).regions = {comparator};
  const Values sorted = b.module().op(sort).results;
  Values first;
  for (size_t i = 0; i < sorted.size(); ++i) {
    const Dims& dims = results[i].shape.dims;
    first.push_back(b.slice(sorted[i], ir::Ints(dims.size(), 0), {dims.begin(), dims.end()},
                            ir::Ints(dims.size(), 1)));
  }
  return first;
}

// Whether `result` is `operand` but for one shorter dimension.
bool isShortened(const ir::Type& operand, const ir::Type& result, int64_t dimension) {
  ir::Type expected = operand;
  if (operand.is_token || result.is_token || dimension < 0 || dimension >= operand.shape.rank() ||
      result.shape.rank() != operand.shape.rank())
    return false;
  const auto d = static_cast<size_t>(dimension);
  const int64_t size = result.shape.dims[d];
  expected.shape.dims[d] = size;
  return expected == result && size >= 0 && size <= operand.shape.dims[d];
}

// JAX compares what it ranks as numbers, which says nothing of NaN, and a sort by that may lose others
// beside it. The total order has a place for it; as in JAX's own sorts, there is one NaN, and the zeros
// are equal, but in small types, whose NaN may have any sign.
void placeNaNs(ir::Module& module, ir::RegionId comparator) {
  const auto only = [&](ir::RegionId body) -> ir::Op* {
    const std::vector<ir::OpId>& ops = module.region(body).ops;
    return ops.size() == 1 ? &module.op(ops[0]) : nullptr;
  };
  ir::Op* op = only(comparator);
  if (op && op->kind == OpKind::call_) {
    const ir::Function* callee = module.find(op->symbol(AttrKey::callee));
    if (!callee) return;
    comparator = callee->body;
    op = only(comparator);
  }
  if (!op || op->kind != OpKind::compare_ || !isFloat(module.shape(op->operand(0)).dtype)) return;
  op->set(AttrKey::compare_type, std::string("TOTALORDER"));
  if (isSmall(module.shape(op->operand(0)).dtype)) return;
  const ir::OpId compare = module.region(comparator).ops[0];
  module.region(comparator).ops.clear();
  Builder b(module, comparator, op->loc);
  for (Value& x : op->operands) {
    const Shape shape = module.shape(x);
    const Value zero = b.splat(shape, 0), nan = b.splat(shape, std::nan(""));
    const Value number = b.select(b.compare(x, zero, "EQ"), zero, x);
    x = b.select(b.compare(x, x, "NE"), nan, number);
  }
  module.region(comparator).ops.push_back(compare);
}

}  // namespace

// A region that calls a function: what custom calls name as their computations.
Status ModuleBuilder::calledRegion(const ForeignCall& call, std::span<const ir::Type> args,
                                   std::span<const ir::Type> results, ir::RegionId* region) {
  std::span<const uint32_t> names;
  if (uint32_t list = attrNamed(call.row, call.attrs, "called_computations"); list != kNone)
    if (auto items = listOf(wire_, list)) names = *items;
  std::string name;
  if (names.size() == 1) TERCEL_TRY(readText(names[0], name));
  if (name.empty()) return invalidArgument("a custom call that names no computation");
  TERCEL_TRY(spendValues(args.size() + results.size()));
  *region = module_.addRegion();
  Values values;
  for (const ir::Type& type : args) values.push_back(module_.addArg(*region, type));
  if (refines_) {
    Block body{.region = *region};
    const std::vector<ir::Type> own = result_types_;  // not those of the ops in it
    TERCEL_TRY(inlineFunction(name, call.op, values, body));
    result_types_ = own;
    module_.region(*region).results = std::move(body.results);
    return {};
  }
  const ir::OpId made = Builder(module_, *region)
                            .append(OpKind::call_, std::move(values), results,
                                    {{AttrKey::callee, std::move(name)}});
  module_.region(*region).results = module_.op(made).results;
  return {};
}

Status ModuleBuilder::buildFactorisation(const ForeignCall& call) {
  const Values& operands = call.operands;
  if (operands.size() != 1 || result_types_.size() != 2) return wrong(call.target);
  const ir::Type type = module_.type(operands[0]);
  if (!isMatrix(type) || result_types_[0] != type || !isTaus(type, result_types_[1]))
    return wrong(call.target);
  Builder b(module_, call.region);
  if (type.shape.elements() > 0) return bind(call.op.results, factorise(b, operands[0]));
  return bind(call.op.results, {operands[0], zeros(b, result_types_[1])});
}

// The configuration is the text "lower,sorted,most iterations,tolerance"; ours are always sorted.
Status ModuleBuilder::buildEigenvectors(const ForeignCall& call) {
  const Values& operands = call.operands;
  if (operands.size() != 1 || result_types_.size() != 2) return wrong(call.target);
  const ir::Type type = module_.type(operands[0]);
  const std::string_view config =
      textOf(wire_, attrNamed(call.row, call.attrs, "backend_config")).value_or("");
  if (!isFactorisable(type) || type.shape.dims.back() != type.shape.dims.end()[-2] ||
      !(config.starts_with("0,") || config.starts_with("1,")))
    return wrong(call.target);
  Builder b(module_, call.region);
  const Values made = eigenvectors(b, operands[0], config.starts_with("1"));
  return hasTypes(made) ? bind(call.op.results, made) : wrong(call.target);
}

Status ModuleBuilder::buildLu(const ForeignCall& call) {
  const Values& operands = call.operands;
  if (operands.size() != 1 || result_types_.size() != 3 ||
      !isFactorisable(module_.type(operands[0])))
    return wrong(call.target);
  Builder b(module_, call.region);
  const Values made = luDecomposition(b, operands[0]);
  return hasTypes(made) ? bind(call.op.results, made) : wrong(call.target);
}

// Whether these are of the types of the op's results.
bool ModuleBuilder::hasTypes(const Values& values) const {
  return std::ranges::equal(values, result_types_, {}, [&](Value v) { return module_.type(v); });
}

Status ModuleBuilder::buildReflectorProduct(const ForeignCall& call) {
  const Values& operands = call.operands;
  if (operands.size() != 2 || result_types_.size() != 1) return wrong(call.target);
  const ir::Type type = module_.type(operands[0]);
  if (!isMatrix(type) || result_types_[0] != type || !isTaus(type, module_.type(operands[1])))
    return wrong(call.target);
  if (type.shape.elements() == 0) return bind(call.op.results, {operands[0]});
  Builder b(module_, call.region);
  return bind(call.op.results, {multiplyReflectors(b, operands[0], operands[1])});
}

// Arrays and as many initial values; the shapes of the results, or how many are wanted, may follow.
Status ModuleBuilder::buildApproxTopK(const ForeignCall& call) {
  const Values& operands = call.operands;
  const size_t count = result_types_.size();
  uint32_t config = entryOf(wire_, call.op.attrs, "mhlo.backend_config");
  if (config == kNone) config = attrNamed(call.row, call.attrs, "backend_config");
  const uint32_t entry = config == kNone ? kNone : entryOf(wire_, config, "reduction_dim");
  if (count == 0 || operands.size() < 2 * count || entry == kNone) return wrong(call.target);
  int64_t dimension = integerOf(wire_, entry).value_or(-1);
  if (dimension < 0) dimension += module_.shape(operands[0]).rank();
  if (refines_ && operands.size() == 2 * count + 1)
    TERCEL_TRY(shortenResults(operands[0], operands.back(), dimension));
  Values arrays;
  std::vector<ir::Type> scalars;
  for (size_t i = 0; i < count; ++i) {
    const ir::Type type = module_.type(operands[i]);
    if (!isShortened(type, result_types_[i], dimension)) return wrong(call.target);
    arrays.push_back(operands[i]);
    scalars.insert(scalars.end(), 2, ir::Type{Shape{type.shape.dtype, {}}, false});
  }
  const ir::Type pred{Shape{DType::pred, {}}, false};
  ir::RegionId comparator;
  TERCEL_TRY(calledRegion(call, scalars, {&pred, 1}, &comparator));
  placeNaNs(module_, comparator);
  Builder b(module_, call.region);
  return bind(call.op.results,
              firstSorted(b, std::move(arrays), dimension, comparator, result_types_));
}

// The largest of each row and where they stand, as chlo.top_k; jaxlib up to 0.9.0 writes mhlo.topk.
Status ModuleBuilder::buildTopK(const ForeignCall& call) {
  const Values& operands = call.operands;
  if (operands.empty() || result_types_.size() != 2) return wrong(call.target);
  const ir::Type type = module_.type(operands[0]);
  const ir::Type places{Shape{DType::s32, type.shape.dims}, false};
  const int64_t last = type.shape.rank() - 1;
  if (!isShortened(type, result_types_[0], last) || !isShortened(places, result_types_[1], last))
    return wrong(call.target);
  const uint32_t given = entryOf(wire_, call.op.attrs, "mhlo.attributes");
  const uint32_t largest = given == kNone ? kNone : entryOf(wire_, given, "largest");
  if (largest != kNone && !boolOf(wire_, largest).value_or(false))
    return unimplemented("the smallest of rows by ", call.target);
  const ir::RegionId comparator = module_.addRegion();
  const ir::Type scalar{Shape{type.shape.dtype, {}}, false}, place{Shape{DType::s32, {}}, false};
  const Value x = module_.addArg(comparator, scalar), y = module_.addArg(comparator, scalar);
  module_.addArg(comparator, place);
  module_.addArg(comparator, place);
  Builder inner(module_, comparator), b(module_, call.region);
  std::string_view order = isFloat(type.shape.dtype) ? "TOTALORDER" : "";
  module_.region(comparator).results = {inner.compare(x, y, "GT", order)};
  Values arrays{operands[0], b.iota(places.shape, last)};
  return bind(call.op.results, firstSorted(b, std::move(arrays), last, comparator, result_types_));
}

Status ModuleBuilder::buildDynamicBits(const ForeignCall& call) {
  const Values& operands = call.operands;
  uint32_t algorithm = entryOf(wire_, call.op.attrs, "rng_algorithm");
  if (operands.empty() || result_types_.size() != 2 || algorithm == kNone)
    return wrong(call.target);
  const std::string name(spellingOf(wire_.attrs[algorithm]));
  const ir::OpId id = Builder(module_, call.region)
                          .append(OpKind::rng_bit_generator_, {operands[0]}, result_types_,
                                  {{AttrKey::rng_algorithm, name}});
  return bind(call.op.results, module_.op(id).results);
}

// Arrays, as many initial values, and five lists that the op has as attributes.
Status ModuleBuilder::buildDynamicWindow(const ForeignCall& call) {
  const Values& operands = call.operands;
  constexpr std::string_view kLists[] = {"window_dimensions", "window_strides", "base_dilations",
                                         "window_dilations", "padding"};
  const size_t count = result_types_.size();
  if (operands.size() < 2 * count + std::size(kLists)) return wrong(call.target);
  Values own(std::span<const Value>(operands).first(2 * count));
  std::vector<ir::Type> scalars;
  for (size_t i = count; i < 2 * count; ++i) scalars.push_back(module_.type(operands[i]));
  std::vector<ir::Type> args = scalars;
  args.insert(args.end(), scalars.begin(), scalars.end());
  ir::RegionId body;
  TERCEL_TRY(calledRegion(call, args, scalars, &body));
  const ir::OpId id = Builder(module_, call.region)
                          .append(OpKind::reduce_window_, std::move(own), result_types_);
  module_.op(id).regions = {body};
  for (size_t i = 0; i < std::size(kLists); ++i)
    TERCEL_TRY(giveAttribute(module_.op(id), operands[2 * count + i], kLists[i]));
  TERCEL_TRY(settleTypes(id));
  return bind(call.op.results, module_.op(id).results);
}

ModuleBuilder::BuildForeign ModuleBuilder::foreignCalled(std::string_view target) {
  struct Row {
    std::string_view target;
    BuildForeign build;
  };
  static constexpr Row kRows[] = {
      {"ApproxTopK", &ModuleBuilder::buildApproxTopK},
      {"Eigh", &ModuleBuilder::buildEigenvectors},
      {"LuDecomposition", &ModuleBuilder::buildLu},
      {"ProductOfElementaryHouseholderReflectors", &ModuleBuilder::buildReflectorProduct},
      {"Qr", &ModuleBuilder::buildFactorisation},
      {"mhlo.topk", &ModuleBuilder::buildTopK},
      {"stablehlo.dynamic_approx_top_k", &ModuleBuilder::buildApproxTopK},
      {"stablehlo.dynamic_reduce_window", &ModuleBuilder::buildDynamicWindow},
      {"stablehlo.dynamic_rng_bit_generator", &ModuleBuilder::buildDynamicBits},
      {"stablehlo.dynamic_top_k", &ModuleBuilder::buildTopK},
  };
  const Row* row = std::ranges::find(kRows, target, &Row::target);
  return row == std::end(kRows) ? nullptr : row->build;
}

Status ModuleBuilder::buildForeignCall(const WireOp& op, const OpRow& row, const OpAttrs& attrs,
                                       std::string_view target, BuildForeign build,
                                       const Block& block) {
  ForeignCall call{op, row, attrs, target, block.region, operandsOf(op)};
  TERCEL_TRY(takeResults(op));
  if (refines_) TERCEL_TRY(takeCallShapes(op, target, call.operands));
  TERCEL_TRY(spendValues(call.operands.size() + result_types_.size()));
  return (this->*build)(call);
}

}  // namespace tercel::stablehlo
