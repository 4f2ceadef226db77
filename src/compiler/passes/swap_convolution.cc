// A window larger than the image it slides over reads mostly padding. The image may as well be the
// window: sums over its few elements, of places of the kernel, are the outputs from last to first.
#include <algorithm>

#include "compiler/passes/expand_convolution.h"
#include "compiler/passes/layout_rules.h"
#include "core/integers.h"

namespace tercel::passes {
using namespace ir;
namespace {

// One dimension of space.
struct SwappedSpace {
  int64_t image, window, outputs, stride, padding, image_dilation, window_dilation;
  // Products for an output; those with the gaps of a dilated image are left out unless the window
  // strides.
  int64_t products() const { return stride > 1 ? window : ceilDiv(window, image_dilation); }
  SwappedSpace swapped() const {
    return {window, image, outputs, stride, stride * (outputs - 1) - padding, window_dilation,
            image_dilation};
  }
  int64_t highPadding() const {
    return stride * (outputs - 1) + window_dilation * (window - 1) -
           image_dilation * (image - 1) - padding;
  }
};

class Swap {
 public:
  Swap(Rewriter& rw, const Op& op) : rw_(rw), op_(op), result_(rw.shape(op.result())) {}

  bool run() {
    if (!suits()) return false;
    readSpace();
    if (!gains()) return false;
    Value sums = rw_.emit(OpKind::convolution_, {op_.operand(1), op_.operand(0)}, result_,
                          swapped().attrs);
    rw_.replace(op_.result(), rw_.reverse(sums, op_.ints(kOutput.spatial)));
    return true;
  }

 private:
  bool suits() const {
    return op_.integer(AttrKey::feature_group_count) <= 1 &&
           op_.integer(AttrKey::batch_group_count) <= 1 && !op_.ints(kOutput.spatial).empty() &&
           std::ranges::all_of(op_.ints(AttrKey::window_reversal), [](int64_t x) { return !x; }) &&
           result_.elements() > 0 && rw_.shape(op_.operand(0)).elements() > 0;
  }

  void readSpace() {
    auto entry = [&](AttrKey key, size_t at, int64_t otherwise) {
      return op_.ints(key).empty() ? otherwise : op_.ints(key)[at];
    };
    for (size_t s = 0; s < op_.ints(kOutput.spatial).size(); ++s)
      space_.push_back({rw_.shape(op_.operand(0)).dims[op_.ints(kInput.spatial)[s]],
                        rw_.shape(op_.operand(1)).dims[op_.ints(kKernel.spatial)[s]],
                        result_.dims[op_.ints(kOutput.spatial)[s]],
                        entry(AttrKey::window_strides, s, 1), entry(AttrKey::padding, 2 * s, 0),
                        entry(AttrKey::lhs_dilation, s, 1), entry(AttrKey::rhs_dilation, s, 1)});
  }

  // The batch becomes the features, few of which leave vectors empty, unless what is left is a
  // product of an image of one element with a part of the kernel.
  bool gains() const {
    constexpr int64_t kGain = 2, kGainOfOne = 16;
    int64_t before = 1, after = 1, kernel = 1, outputs = 1;
    for (const SwappedSpace& x : space_) {
      before *= x.products();
      after *= x.swapped().products();
      kernel *= x.window;
      outputs *= x.outputs;
    }
    int64_t batch = result_.dims[op_.integer(kOutput.batch_or_input)];
    return before >= kGain * after &&
           ((after == 1 && outputs < kernel) || before * batch >= kGainOfOne * after);
  }

  Op swapped() const {
    Op fresh;
    fresh.attrs = op_.attrs;
    rename(fresh, kInput, kKernel);
    rename(fresh, kKernel, kInput);
    rename(fresh, kOutput, kOutput);
    Ints padding, image_dilation, window_dilation;
    for (const SwappedSpace& old : space_) {
      const SwappedSpace x = old.swapped();
      padding.push_back(x.padding);
      padding.push_back(x.highPadding());
      image_dilation.push_back(x.image_dilation);
      window_dilation.push_back(x.window_dilation);
    }
    fresh.set(AttrKey::padding, padding);
    fresh.set(AttrKey::lhs_dilation, image_dilation);
    fresh.set(AttrKey::rhs_dilation, window_dilation);
    return fresh;
  }
  // What was the batch of the one becomes the features of the other.
  void rename(Op& fresh, const ConvolutionDims& to, const ConvolutionDims& from) const {
    fresh.set(to.batch_or_input, op_.integer(from.feature_or_output));
    fresh.set(to.feature_or_output, op_.integer(from.batch_or_input));
    fresh.set(to.spatial, op_.ints(from.spatial));
  }

  Rewriter& rw_;
  const Op op_;
  const Shape result_;
  std::vector<SwappedSpace> space_;
};

}  // namespace

bool swapConvolution(Rewriter& rw, OpId id) { return Swap(rw, rw.op(id)).run(); }

}  // namespace tercel::passes
