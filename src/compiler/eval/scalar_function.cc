#include "compiler/eval/scalar_function.h"

#include <cstring>

#include "compiler/eval/elementwise.h"

namespace tercel::eval {
namespace {

constexpr int kCallDepth = 16;

// Ops that tell a wider value from a rounded one by design.
bool roundsOrLooksAtBits(const Op& op, DType from, DType to) {
  if (op.kind == OpKind::bitcast_convert_ || op.kind == OpKind::reduce_precision_) return true;
  bool inexact = (isFloat(from) && isFloat(to)) || (isComplex(from) && isComplex(to));
  return op.kind == OpKind::convert_ && inexact && byteSize(to) < byteSize(from);
}

}  // namespace

ScalarFunction::ScalarFunction(Evaluation& evaluation, ir::RegionId region, Rounding rounding)
    : evaluation_(evaluation), region_(region) {
  compiled_ =
      (rounding == Rounding::at_end && compileWith(rounding)) || compileWith(Rounding::each_op);
  const ir::Module& module = evaluation.module();
  for (ir::Value v : module.region(region).args)
    arg_types_.push_back(compiled_ ? held(module.shape(v).dtype) : module.shape(v).dtype);
  for (ir::Value v : module.region(region).results)
    result_types_.push_back(compiled_ ? held(module.shape(v).dtype) : module.shape(v).dtype);
}

DType ScalarFunction::held(DType dtype) const {
  if (rounding_ == Rounding::each_op) return dtype;
  return isFloat(dtype) ? DType::f64 : isComplex(dtype) ? DType::c128 : dtype;
}

ScalarFunction::Place ScalarFunction::newPlace(DType dtype) {
  slots_.push_back(std::make_unique<Slot>());
  return {slots_.back().get(), dtype};
}

ScalarFunction::Place ScalarFunction::constant(const Literal& literal) {
  Literal wide = convertLiteral(literal, held(literal.shape().dtype));
  Place place = newPlace(wide.shape().dtype);
  std::memcpy(place.slot->bytes, wide.bytes().data(), byteSize(place.dtype));
  return place;
}

bool ScalarFunction::compileWith(Rounding rounding) {
  rounding_ = rounding;
  slots_.clear(), args_.clear(), results_.clear(), steps_.clear();
  const ir::Region& region = evaluation_.module().region(region_);
  for (ir::Value v : region.args)
    args_.push_back(newPlace(held(evaluation_.module().shape(v).dtype)));
  return compile(region, args_, &results_, 0);
}

// A value from outside of the region is a constant while the region is applied.
bool ScalarFunction::find(ir::Value value, Places& places, Place* place) {
  auto found = places.find(value.index);
  if (found == places.end()) {
    const Literal* outer = evaluation_.find(value);
    if (!outer || outer->shape().elements() != 1) return false;
    found = places.emplace(value.index, constant(*outer)).first;
  }
  *place = found->second;
  return true;
}

bool ScalarFunction::compile(const ir::Region& region, std::span<const Place> args,
                             std::vector<Place>* results, int depth) {
  const ir::Module& module = evaluation_.module();
  Places places;
  for (size_t i = 0; i < args.size(); ++i) {
    if (module.type(region.args[i]).is_token || !module.shape(region.args[i]).dims.empty())
      return false;
    places[region.args[i].index] = args[i];
  }
  for (ir::OpId id : region.ops)
    if (!compileOp(module.op(id), places, depth)) return false;
  for (ir::Value v : region.results) {
    Place place;
    if (!find(v, places, &place)) return false;
    results->push_back(place);
  }
  return true;
}

bool ScalarFunction::compileOp(const Op& op, Places& places, int depth) {
  if (op.kind == OpKind::call_) return compileCall(op, places, depth);
  if (op.results.size() != 1) return false;
  const Shape& result = evaluation_.module().shape(op.result());
  if (!result.dims.empty()) return false;
  if (op.kind == OpKind::constant_) {
    places[op.result().index] = constant(op.literal());
    return true;
  }
  Step step;
  std::vector<DType> dtypes;
  for (ir::Value v : op.operands) {
    Place place;
    if (!find(v, places, &place)) return false;
    if (rounding_ == Rounding::at_end &&
        roundsOrLooksAtBits(op, evaluation_.module().shape(v).dtype, result.dtype))
      return false;
    dtypes.push_back(place.dtype);
    step.in.push_back(place.slot->bytes);
  }
  Place out = newPlace(held(result.dtype));
  if (ir::isElementwise(op.kind) && op.kind != OpKind::map_)
    step.kernel = elementwiseKernel({op, dtypes, out.dtype});
  if (!step.kernel) return false;
  step.out = out.slot->bytes;
  places[op.result().index] = out;
  steps_.push_back(std::move(step));
  return true;
}

bool ScalarFunction::compileCall(const Op& op, Places& places, int depth) {
  const ir::Function* callee = evaluation_.module().find(op.symbol(AttrKey::callee));
  if (!callee || depth >= kCallDepth) return false;
  std::vector<Place> args(op.operands.size()), results;
  for (size_t i = 0; i < args.size(); ++i)
    if (!find(op.operand(i), places, &args[i])) return false;
  if (!compile(evaluation_.module().region(callee->body), args, &results, depth + 1)) return false;
  for (size_t i = 0; i < results.size(); ++i) places[op.result(i).index] = results[i];
  return true;
}

Status ScalarFunction::apply(std::span<const void* const> args, std::span<void* const> results) {
  if (!compiled_) return interpret(args, results);
  for (size_t i = 0; i < args.size(); ++i)
    std::memcpy(args_[i].slot->bytes, args[i], byteSize(args_[i].dtype));
  for (const Step& step : steps_) step.kernel(step.in.data(), step.out, 1);
  for (size_t i = 0; i < results.size(); ++i)
    std::memcpy(results[i], results_[i].slot->bytes, byteSize(results_[i].dtype));
  return {};
}

Status ScalarFunction::interpret(std::span<const void* const> args,
                                 std::span<void* const> results) {
  Literals literals;
  for (size_t i = 0; i < args.size(); ++i)
    literals.push_back(Literal::splat(Shape{arg_types_[i], {}}, args[i]));
  TERCEL_ASSIGN(Literals out, evaluation_.runQuietly(region_, literals));
  for (size_t i = 0; i < results.size(); ++i)
    std::memcpy(results[i], out[i].bytes().data(), byteSize(out[i].shape().dtype));
  return {};
}

}  // namespace tercel::eval
