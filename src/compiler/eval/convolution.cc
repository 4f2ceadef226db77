#include "compiler/eval/contraction.h"

namespace tercel::eval {
namespace {

Ints orAll(const Ints& given, size_t rank, int64_t number) {
  return given.empty() ? Ints(rank, number) : given;
}

// batch or output feature, then the spatial dimensions, then the input feature.
Dims canonicalOrder(int64_t first, const Ints& spatial, int64_t last) {
  Dims order{first};
  for (int64_t d : spatial) order.push_back(d);
  order.push_back(last);
  return order;
}

Dims permuted(const Dims& dims, const Dims& order) {
  Dims result;
  for (int64_t d : order) result.push_back(dims[static_cast<size_t>(d)]);
  return result;
}

// The spatial part: which input position meets which kernel position.
struct SpatialWindow {
  Ints strides, padding, lhs_dilation, rhs_dilation, reversal;
  Dims input, kernel, output;

  // The input position under kernel position `k` for output position `o`; false in padding, holes.
  bool inputPosition(std::span<const int64_t> o, const Dims& k, Dims& at) const {
    for (size_t d = 0; d < input.size(); ++d) {
      int64_t tap = reversal[d] ? kernel[d] - 1 - k[d] : k[d];
      int64_t i = o[d] * strides[d] + tap * rhs_dilation[d] - padding[2 * d];
      if (i < 0 || i % lhs_dilation[d] != 0) return false;
      at[d] = i / lhs_dilation[d];
      if (at[d] >= input[d]) return false;
    }
    return true;
  }
};

struct Convolution {
  Convolution(const Op& op, const Shape& lhs, const Shape& rhs, const Shape& result);

  Dims lhs_order, rhs_order, result_order;
  SpatialWindow spatial;
  int64_t batch, out_features, in_features;  // of the result; in_features as the kernel has them
  int64_t lhs_features, feature_groups, batch_groups;
  Dims result_strides;  // of the result's dimensions in canonical order
};

Dims middle(const Dims& dims) { return Dims(dims.begin() + 1, dims.end() - 1); }

Convolution::Convolution(const Op& op, const Shape& lhs, const Shape& rhs, const Shape& result)
    : lhs_order(canonicalOrder(op.integer(AttrKey::input_batch_dimension),
                               op.ints(AttrKey::input_spatial_dimensions),
                               op.integer(AttrKey::input_feature_dimension))),
      rhs_order(canonicalOrder(op.integer(AttrKey::kernel_output_feature_dimension),
                               op.ints(AttrKey::kernel_spatial_dimensions),
                               op.integer(AttrKey::kernel_input_feature_dimension))),
      result_order(canonicalOrder(op.integer(AttrKey::output_batch_dimension),
                                  op.ints(AttrKey::output_spatial_dimensions),
                                  op.integer(AttrKey::output_feature_dimension))) {
  Dims lhs_dims = permuted(lhs.dims, lhs_order), rhs_dims = permuted(rhs.dims, rhs_order);
  Dims result_dims = permuted(result.dims, result_order);
  size_t rank = lhs_dims.size() - 2;
  spatial = {orAll(op.ints(AttrKey::window_strides), rank, 1),
             orAll(op.ints(AttrKey::padding), 2 * rank, 0),
             orAll(op.ints(AttrKey::lhs_dilation), rank, 1),
             orAll(op.ints(AttrKey::rhs_dilation), rank, 1),
             orAll(op.ints(AttrKey::window_reversal), rank, 0),
             middle(lhs_dims),
             middle(rhs_dims),
             middle(result_dims)};
  batch = result_dims.front();
  out_features = result_dims.back();
  in_features = rhs_dims.back();
  lhs_features = lhs_dims.back();
  feature_groups =
      op.has(AttrKey::feature_group_count) ? op.integer(AttrKey::feature_group_count) : 1;
  batch_groups = op.has(AttrKey::batch_group_count) ? op.integer(AttrKey::batch_group_count) : 1;
  result_strides = permuted(rowMajorStrides(result.dims), result_order);
}

// One output element; padding and holes are zeros, which make NaN of a weight that is not finite.
// An output feature belongs to one feature group, which reads a slice of the input features, and to
// one batch group, which reads a slice of the input batch.
template <class S>
S convolveAt(const Convolution& c, const std::vector<S>& lhs, const std::vector<S>& rhs,
             const Dims& out) {
  int64_t o = out.back();
  int64_t feature_group = o / (c.out_features / c.feature_groups);
  int64_t batch_group = o / (c.out_features / c.batch_groups);
  int64_t n = batch_group * c.batch + out.front();
  std::span<const int64_t> out_spatial(out.begin() + 1, out.size() - 2);
  int64_t input_size = elementCount(c.spatial.input), tap = 0;
  Dims at(c.spatial.input.size()), strides = rowMajorStrides(c.spatial.input);
  const S* weights = rhs.data() + o * elementCount(c.spatial.kernel) * c.in_features;
  S sum{};
  forEachIndex(c.spatial.kernel, [&](const Dims& k) {
    const S* w = weights + tap++ * c.in_features;
    if (!c.spatial.inputPosition(out_spatial, k, at)) {
      for (int64_t i = 0; i < c.in_features; ++i) sum += product(S{}, w[i]);
      return;
    }
    const S* x = lhs.data() + (n * input_size + position(at, strides)) * c.lhs_features +
                 feature_group * c.in_features;
    for (int64_t i = 0; i < c.in_features; ++i) sum += product(x[i], w[i]);
  });
  return sum;
}

}  // namespace

Result<Literals> evalConvolution(Evaluation& evaluation, const Op& op, Operands operands) {
  Output out(evaluation.resultShape(op));
  Convolution c(op, operands[0].shape(), operands[1].shape(), out.shape());
  int64_t products = elementCount(c.spatial.kernel) * c.in_features;
  TERCEL_TRY(evaluation.charge(out.shape().elements() * products));
  Dims result_dims = permuted(out.shape().dims, c.result_order);
  visitDType(out.shape().dtype, [&]<class T>() {
    auto lhs = summands<Sum<T>>(operands[0], c.lhs_order);
    auto rhs = summands<Sum<T>>(operands[1], c.rhs_order);
    T* result = out.data<T>();
    forEachIndex(result_dims, [&](const Dims& index) {
      result[position(index, c.result_strides)] = rounded<T>(convolveAt(c, lhs, rhs, index));
    });
  });
  return Literals{out.take()};
}

}  // namespace tercel::eval
