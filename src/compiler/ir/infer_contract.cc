#include "compiler/ir/infer_rules.h"
#include "compiler/ir/window.h"

namespace tercel::ir {
namespace {

// The element type may be declared (preferred_element_type); it is the left operand's otherwise.
// Integers of two types are multiplied as the result's.
Result<Types> contraction(const OpUse& use, Dims dims) {
  const DType lhs = use.shape(0).dtype, rhs = use.shape(1).dtype;
  if (lhs != rhs && !(isInteger(lhs) && isInteger(rhs)))
    return use.error("the operands' element types differ");
  DType dtype = use.shape(0).dtype;
  if (use.declared.size() == 1 && !use.declared[0].is_token) {
    DType to = use.declared[0].shape.dtype;
    if (isComplex(to) != isComplex(dtype)) return use.error("cannot accumulate in ", dtypeName(to));
    dtype = to;
  }
  return oneType(dtype, std::move(dims));
}

Status checkPairedDims(const OpUse& use, AttrKey lhs_key, AttrKey rhs_key) {
  const Ints &lhs = use.ints(lhs_key), &rhs = use.ints(rhs_key);
  TERCEL_TRY(checkSize(use, rhs_key, lhs.size()));
  TERCEL_TRY(checkAxes(use, lhs_key, use.shape(0).rank()));
  TERCEL_TRY(checkAxes(use, rhs_key, use.shape(1).rank()));
  for (size_t i = 0; i < lhs.size(); ++i)
    if (use.dims(0)[lhs[i]] != use.dims(1)[rhs[i]])
      return use.error("dimension ", lhs[i], " of the left operand and dimension ", rhs[i],
                       " of the right differ");
  return {};
}

void appendFreeDims(Dims& to, const Dims& dims, const Ints& batching, const Ints& contracting) {
  for (int64_t i = 0; i < static_cast<int64_t>(dims.size()); ++i)
    if (!contains(batching, i) && !contains(contracting, i)) to.push_back(dims[i]);
}

Status checkPrecision(const OpUse& use) {
  std::string_view precision = use.symbol(AttrKey::precision);
  if (precision.empty() || precision == "DEFAULT" || precision == "HIGH" || precision == "HIGHEST")
    return {};
  return use.error("precision is '", precision, "', not DEFAULT HIGH HIGHEST");
}

// `batch`, `feature` and `spatial` together name each dimension once.
Status checkLayout(const OpUse& use, AttrKey batch, AttrKey feature, AttrKey spatial) {
  int64_t rank = use.shape(0).rank();
  Ints all = use.ints(spatial);
  all.push_back(use.integer(batch));
  all.push_back(use.integer(feature));
  for (int64_t axis = 0; axis < rank; ++axis)
    if (!contains(all, axis) || static_cast<int64_t>(all.size()) != rank)
      return use.error(attrName(batch), ", ", attrName(feature), " and ", attrName(spatial), " ",
                       tercel::toString(all), " do not name each dimension once");
  return {};
}

Status checkConvolutionAttrs(const OpUse& use) {
  int64_t rank = use.shape(0).rank();
  if (rank < 2 || use.shape(1).rank() != rank)
    return use.error("needs operands of one rank, 2 or more");
  size_t spatial = static_cast<size_t>(rank - 2);
  TERCEL_TRY(checkLayout(use, AttrKey::input_batch_dimension, AttrKey::input_feature_dimension,
                         AttrKey::input_spatial_dimensions));
  TERCEL_TRY(checkLayout(use, AttrKey::kernel_input_feature_dimension,
                         AttrKey::kernel_output_feature_dimension,
                         AttrKey::kernel_spatial_dimensions));
  TERCEL_TRY(checkLayout(use, AttrKey::output_batch_dimension, AttrKey::output_feature_dimension,
                         AttrKey::output_spatial_dimensions));
  for (AttrKey key : {AttrKey::window_strides, AttrKey::lhs_dilation, AttrKey::rhs_dilation}) {
    TERCEL_TRY(checkSize(use, key, spatial));
    TERCEL_TRY(checkAtLeast(use, key, 1));
  }
  TERCEL_TRY(checkSize(use, AttrKey::padding, 2 * spatial));
  if (use.find(AttrKey::window_reversal))
    TERCEL_TRY(checkSize(use, AttrKey::window_reversal, spatial));
  return checkPrecision(use);
}

Status checkGroups(const OpUse& use) {
  int64_t batch = use.dims(0)[use.integer(AttrKey::input_batch_dimension)];
  int64_t input = use.dims(0)[use.integer(AttrKey::input_feature_dimension)];
  int64_t kernel_input = use.dims(1)[use.integer(AttrKey::kernel_input_feature_dimension)];
  int64_t kernel_output = use.dims(1)[use.integer(AttrKey::kernel_output_feature_dimension)];
  int64_t features = use.integer(AttrKey::feature_group_count);
  int64_t batches = use.integer(AttrKey::batch_group_count);
  if (features < 1 || batches < 1)
    return use.error("feature_group_count and batch_group_count must be 1 or more");
  if (features > 1 && batches > 1)
    return use.error("feature_group_count and batch_group_count are both above 1");
  if (batch % batches || kernel_output % batches)
    return use.error("batch_group_count ", batches, " does not divide batch and output features");
  if (input % features || kernel_output % features || kernel_input != input / features)
    return use.error("feature_group_count ", features, " does not fit ", input, " input features, ",
                     kernel_input, " of the kernel and ", kernel_output, " output features");
  return {};
}

}  // namespace

Result<Types> inferDotGeneral(const OpUse& use) {
  TERCEL_TRY(
      checkPairedDims(use, AttrKey::lhs_batching_dimensions, AttrKey::rhs_batching_dimensions));
  TERCEL_TRY(checkPairedDims(use, AttrKey::lhs_contracting_dimensions,
                             AttrKey::rhs_contracting_dimensions));
  TERCEL_TRY(
      checkDisjoint(use, AttrKey::lhs_batching_dimensions, AttrKey::lhs_contracting_dimensions));
  TERCEL_TRY(
      checkDisjoint(use, AttrKey::rhs_batching_dimensions, AttrKey::rhs_contracting_dimensions));
  TERCEL_TRY(checkPrecision(use));
  Dims dims;
  for (int64_t axis : use.ints(AttrKey::lhs_batching_dimensions)) dims.push_back(use.dims(0)[axis]);
  appendFreeDims(dims, use.dims(0), use.ints(AttrKey::lhs_batching_dimensions),
                 use.ints(AttrKey::lhs_contracting_dimensions));
  appendFreeDims(dims, use.dims(1), use.ints(AttrKey::rhs_batching_dimensions),
                 use.ints(AttrKey::rhs_contracting_dimensions));
  return contraction(use, std::move(dims));
}

Result<Types> inferConvolution(const OpUse& use) {
  TERCEL_TRY(checkConvolutionAttrs(use));
  TERCEL_TRY(checkGroups(use));
  Dims dims(use.dims(0).size(), 0);
  dims[use.integer(AttrKey::output_batch_dimension)] =
      use.dims(0)[use.integer(AttrKey::input_batch_dimension)] /
      use.integer(AttrKey::batch_group_count);
  dims[use.integer(AttrKey::output_feature_dimension)] =
      use.dims(1)[use.integer(AttrKey::kernel_output_feature_dimension)];
  const Ints& output_spatial = use.ints(AttrKey::output_spatial_dimensions);
  for (size_t i = 0; i < output_spatial.size(); ++i) {
    Dims one;
    TERCEL_TRY(
        pushDim(use, one,
                windowCount({.size = use.dims(0)[use.ints(AttrKey::input_spatial_dimensions)[i]],
                             .window = use.dims(1)[use.ints(AttrKey::kernel_spatial_dimensions)[i]],
                             .stride = use.ints(AttrKey::window_strides)[i],
                             .base_dilation = use.ints(AttrKey::lhs_dilation)[i],
                             .window_dilation = use.ints(AttrKey::rhs_dilation)[i],
                             .low = use.ints(AttrKey::padding)[2 * i],
                             .high = use.ints(AttrKey::padding)[2 * i + 1]})));
    dims[output_spatial[i]] = one[0];
  }
  return contraction(use, std::move(dims));
}

}  // namespace tercel::ir
