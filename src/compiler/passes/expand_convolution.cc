#include "compiler/passes/expand_convolution.h"

#include <algorithm>

#include "compiler/passes/layout_rules.h"

namespace tercel::passes {
using namespace ir;
namespace {

class Ordering {
 public:
  Ordering(Rewriter& rw, const Op& op) : rw_(rw), old_(op), rank_(rw.shape(op.result()).rank()) {
    fresh_.kind = op.kind;
    fresh_.attrs = op.attrs;
  }

  bool run() {
    Shape result = rw_.shape(old_.result());
    if (isDepthwise() || result.elements() == 0 || rw_.shape(old_.operand(0)).elements() == 0)
      return false;
    Value input = old_.operand(0), kernel = old_.operand(1);
    bool turns = !featuresLast(kOutput) && gainsFromTurning();
    Ints back;
    if (turns) {
      input = turned(input, kInput, imageOrder(kInput));
      back = imageOrder(kOutput);
      renameDims(fresh_, kOutput, inverse(back));
      for (int64_t d = 0; d < rank_; ++d)
        result.dims[d] = rw_.shape(old_.result()).dims[back[d]];
    }
    input = padded(input);
    if (featuresLast(kOutput) && !featuresLast(kKernel))
      kernel = turned(kernel, kKernel, kernelOrder());
    if (input == old_.operand(0) && kernel == old_.operand(1)) return false;
    Value sums = rw_.emit(OpKind::convolution_, {input, kernel}, result, fresh_.attrs);
    rw_.replace(old_.result(), turns ? rw_.transpose(sums, inverse(back)) : sums);
    return true;
  }

 private:
  // Element loops do those: no input is read by two features.
  bool isDepthwise() const {
    int64_t groups = std::max(old_.integer(AttrKey::feature_group_count),
                              old_.integer(AttrKey::batch_group_count));
    return groups > 1 && groups == features();
  }
  int64_t features() const {
    return rw_.shape(old_.result()).dims[old_.integer(AttrKey::output_feature_dimension)];
  }
  bool featuresLast(const ConvolutionDims& dims) const {
    return fresh_.integer(dims.feature_or_output) == rank_ - 1;
  }

  // A window of one element makes a product of matrices, which fills vectors as it is; with few
  // products to an output, or few features, turning the arrays takes longer than it saves. Strides
  // leave no vectors along space.
  bool gainsFromTurning() const {
    constexpr int64_t kFewProducts = 64, kFewFeatures = 8;
    const Shape& kernel = rw_.shape(old_.operand(1));
    bool strided = std::ranges::any_of(old_.ints(AttrKey::window_strides),
                                       [](int64_t x) { return x != 1; });
    bool window = std::ranges::any_of(old_.ints(AttrKey::kernel_spatial_dimensions),
                                      [&](int64_t d) { return kernel.dims[d] > 1; });
    return window && kernel.elements() / features() >= kFewProducts &&
           (strided || features() >= kFewFeatures);
  }

  Ints imageOrder(const ConvolutionDims& dims) const {
    Ints list{fresh_.integer(dims.batch_or_input)};
    const Ints& space = fresh_.ints(dims.spatial);
    list.insert(list.end(), space.begin(), space.end());
    list.push_back(fresh_.integer(dims.feature_or_output));
    return list;
  }
  // Output features move behind the others, which is one turn of a matrix; few input features lie
  // behind space, as the input's do, for one long loop over both.
  Ints kernelOrder() const {
    constexpr int64_t kFew = 16;
    int64_t inputs = fresh_.integer(kKernel.batch_or_input);
    int64_t last = fresh_.integer(kKernel.feature_or_output);
    bool few = rw_.shape(old_.operand(1)).dims[inputs] < kFew;
    Ints list;
    for (int64_t d = 0; d < rank_; ++d)
      if (d != last && (d != inputs || !few)) list.push_back(d);
    if (few) list.push_back(inputs);
    list.push_back(last);
    return list;
  }
  static Ints inverse(const Ints& permutation) {
    Ints to(permutation.size());
    for (size_t d = 0; d < permutation.size(); ++d) to[permutation[d]] = static_cast<int64_t>(d);
    return to;
  }
  Value turned(Value v, const ConvolutionDims& dims, const Ints& permutation) {
    renameDims(fresh_, dims, inverse(permutation));
    return rw_.transpose(v, permutation);
  }

  // The input with its padding and dilation written out.
  Value padded(Value input) {
    const Ints padding = old_.ints(AttrKey::padding), dilation = old_.ints(AttrKey::lhs_dilation);
    const Ints spatial = fresh_.ints(AttrKey::input_spatial_dimensions);
    if (std::ranges::all_of(dilation, [](int64_t d) { return d == 1; }) &&
        std::ranges::all_of(padding, [](int64_t p) { return p == 0; }))
      return input;
    Shape whole = rw_.shape(input);
    Ints low(whole.dims.size(), 0), high = low, gap = low;
    for (size_t s = 0; s < spatial.size(); ++s) {
      int64_t d = spatial[s];
      low[d] = padding.empty() ? 0 : padding[2 * s];
      high[d] = padding.empty() ? 0 : padding[2 * s + 1];
      gap[d] = dilation.empty() ? 0 : dilation[s] - 1;
      whole.dims[d] += (whole.dims[d] - 1) * gap[d] + low[d] + high[d];
      if (whole.dims[d] <= 0) return input;
    }
    fresh_.set(AttrKey::padding, Ints(2 * spatial.size(), 0));
    fresh_.set(AttrKey::lhs_dilation, Ints(spatial.size(), 1));
    return rw_.emit(OpKind::pad_, {input, rw_.splat({whole.dtype, {}}, 0)}, whole,
                    {{AttrKey::edge_padding_low, low},
                     {AttrKey::edge_padding_high, high},
                     {AttrKey::interior_padding, gap}});
  }

  Rewriter& rw_;
  const Op old_;
  Op fresh_;
  int64_t rank_;
};

}  // namespace

bool orderConvolution(Rewriter& rw, OpId id) { return Ordering(rw, rw.op(id)).run(); }

}  // namespace tercel::passes
