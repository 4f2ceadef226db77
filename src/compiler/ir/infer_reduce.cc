#include "compiler/ir/infer_rules.h"
#include "compiler/ir/window.h"

namespace tercel::ir {
namespace {

Type scalarOf(const OpUse& use, size_t operand) {
  return Type{Shape{use.shape(operand).dtype, {}}};
}

// `lists` copies of `scalars`, one after the other.
Types repeated(const Types& scalars, size_t lists) {
  Types all;
  for (size_t i = 0; i < lists; ++i) all.insert(all.end(), scalars.begin(), scalars.end());
  return all;
}

// Operands are n inputs of equal dimensions and n scalar initial values; the region folds
// (accumulators, elements) into accumulators.
Status checkFold(const OpUse& use) {
  if (use.count() == 0 || use.count() % 2)
    return use.error("needs as many initial values as inputs");
  size_t n = use.count() / 2;
  Types scalars;
  for (size_t i = 0; i < n; ++i) {
    if (use.dims(i) != use.dims(0)) return use.error("the inputs' dimensions differ");
    scalars.push_back(scalarOf(use, i));
    if (use.type(n + i) != scalars[i])
      return use.error("initial value ", i, " is not a ", toString(scalars[i]));
  }
  TERCEL_TRY(checkRegionArgs(use, 0, repeated(scalars, 2)));
  return checkRegionResults(use, 0, scalars);
}

Types foldResults(const OpUse& use, const Dims& dims) {
  Types types;
  for (size_t i = 0; i < use.count() / 2; ++i)
    types.push_back(Type{Shape{use.shape(i).dtype, dims}});
  return types;
}

Result<Types> inferReduce(const OpUse& use) {
  TERCEL_TRY(checkFold(use));
  TERCEL_TRY(checkAxes(use, AttrKey::dimensions, use.shape(0).rank()));
  Dims dims;
  for (int64_t axis = 0; axis < use.shape(0).rank(); ++axis)
    if (!contains(use.ints(AttrKey::dimensions), axis)) dims.push_back(use.dims(0)[axis]);
  return foldResults(use, dims);
}

// All window attributes of reduce_window and select_and_scatter are given for every dimension.
Status checkWindow(const OpUse& use, std::span<const AttrKey> keys) {
  size_t rank = use.dims(0).size();
  for (AttrKey key : keys) {
    TERCEL_TRY(checkSize(use, key, rank));
    TERCEL_TRY(checkAtLeast(use, key, 1));
  }
  return checkSize(use, AttrKey::padding, 2 * rank);
}

Result<Dims> windowDims(const OpUse& use, bool has_dilation) {
  Dims dims;
  for (size_t i = 0; i < use.dims(0).size(); ++i) {
    WindowDim dim{.size = use.dims(0)[i],
                  .window = use.ints(AttrKey::window_dimensions)[i],
                  .stride = use.ints(AttrKey::window_strides)[i],
                  .low = use.ints(AttrKey::padding)[2 * i],
                  .high = use.ints(AttrKey::padding)[2 * i + 1]};
    if (has_dilation) {
      dim.base_dilation = use.ints(AttrKey::base_dilations)[i];
      dim.window_dilation = use.ints(AttrKey::window_dilations)[i];
    }
    TERCEL_TRY(pushDim(use, dims, windowCount(dim)));
  }
  return dims;
}

Result<Types> inferReduceWindow(const OpUse& use) {
  constexpr AttrKey kKeys[] = {AttrKey::window_dimensions, AttrKey::window_strides,
                               AttrKey::base_dilations, AttrKey::window_dilations};
  TERCEL_TRY(checkFold(use));
  TERCEL_TRY(checkWindow(use, kKeys));
  TERCEL_ASSIGN(Dims dims, windowDims(use, true));
  return foldResults(use, dims);
}

Result<Types> inferSelectAndScatter(const OpUse& use) {
  constexpr AttrKey kKeys[] = {AttrKey::window_dimensions, AttrKey::window_strides};
  Type scalar = scalarOf(use, 0);
  if (use.shape(1).dtype != scalar.shape.dtype || use.type(2) != scalar)
    return use.error("the source or initial value is not of the operand's element type");
  TERCEL_TRY(checkWindow(use, kKeys));
  TERCEL_ASSIGN(Dims windows, windowDims(use, false));
  if (use.dims(1) != windows)
    return use.error("the source's dimensions are not the windows' ", tercel::toString(windows));
  Types pair{scalar, scalar}, pred{Type{Shape{DType::pred, {}}}}, one{scalar};
  TERCEL_TRY(checkRegionArgs(use, 0, pair));
  TERCEL_TRY(checkRegionResults(use, 0, pred));
  TERCEL_TRY(checkRegionArgs(use, 1, pair));
  TERCEL_TRY(checkRegionResults(use, 1, one));
  return Types{use.type(0)};
}

}  // namespace

Result<Types> inferReduction(const OpUse& use) {
  switch (use.kind) {
    case OpKind::reduce_:
      return inferReduce(use);
    case OpKind::reduce_window_:
      return inferReduceWindow(use);
    case OpKind::select_and_scatter_:
      return inferSelectAndScatter(use);
    default:
      return internalError(opName(use.kind), " has no inference rule");
  }
}

// The comparator's arguments are (left, right) of the first operand, then of the second, ...
Result<Types> inferSort(const OpUse& use) {
  if (use.count() == 0) return use.error("needs an operand");
  TERCEL_TRY(checkInRange(use, AttrKey::dimension, std::max<int64_t>(use.shape(0).rank(), 1)));
  Types types, pairs, pred{Type{Shape{DType::pred, {}}}};
  for (size_t i = 0; i < use.count(); ++i) {
    if (use.dims(i) != use.dims(0)) return use.error("the operands' dimensions differ");
    types.push_back(use.type(i));
    pairs.insert(pairs.end(), 2, scalarOf(use, i));
  }
  TERCEL_TRY(checkRegionArgs(use, 0, pairs));
  TERCEL_TRY(checkRegionResults(use, 0, pred));
  return types;
}

}  // namespace tercel::ir
