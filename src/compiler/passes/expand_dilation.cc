// A convolution of a dilated input multiplies mostly by the zeros in its gaps. Outputs at one place
// between two inputs, a phase, see the same weights of the kernel: every d-th one. So each phase is
// a convolution of the input itself; few features of several phases are computed as those of one.
#include <algorithm>

#include "compiler/passes/expand_convolution.h"
#include "compiler/passes/layout_rules.h"
#include "core/integers.h"

namespace tercel::passes {
using namespace ir;
namespace {


// One dimension of space. Output y = d * q + r - shift() is the sum over j of input q + j - low()
// times weight d * j + d - 1 - r.
struct DilatedSpace {
  int64_t dilation, padding, inputs, outputs;
  bool apart = false;  // each phase is a convolution of its own
  int64_t low() const { return floorDiv(padding, dilation); }
  int64_t shift() const { return dilation * low() + dilation - 1 - padding; }
  int64_t steps() const { return (outputs + shift() + dilation - 1) / dilation; }  // of q
  int64_t together() const { return apart ? 1 : dilation; }
};

// Inside, dimensions are in this order: batch, space, phases, features; the kernel's: space, input
// features, phases, features.
class Undilation {
 public:
  Undilation(Rewriter& rw, const Op& op) : rw_(rw), op_(op), result_(rw.shape(op.result())) {}

  bool run() {
    if (!suits() || !readSpace()) return false;
    Ints order = op_.ints(AttrKey::kernel_spatial_dimensions), reversed;
    order.push_back(op_.integer(AttrKey::kernel_input_feature_dimension));
    order.push_back(op_.integer(AttrKey::kernel_output_feature_dimension));
    for (size_t s = 0; s < space_.size(); ++s)
      if (entry(AttrKey::window_reversal, s, 0)) reversed.push_back(static_cast<int64_t>(s));
    Value kernel = reverse(rw_.transpose(op_.operand(1), order), reversed);
    rw_.replace(op_.result(), sideBySide(phases(0, kernel)));
    return true;
  }

 private:
  int64_t entry(AttrKey key, size_t at, int64_t otherwise) const {
    return op_.ints(key).empty() ? otherwise : op_.ints(key)[at];
  }
  bool all(AttrKey key, int64_t value) const {
    return std::ranges::all_of(op_.ints(key), [&](int64_t x) { return x == value; });
  }
  int64_t batch() const { return result_.dims[op_.integer(AttrKey::output_batch_dimension)]; }
  int64_t features() const { return result_.dims[op_.integer(AttrKey::output_feature_dimension)]; }

  bool suits() const {
    return !all(AttrKey::lhs_dilation, 1) && all(AttrKey::window_strides, 1) &&
           all(AttrKey::rhs_dilation, 1) && op_.integer(AttrKey::feature_group_count) <= 1 &&
           op_.integer(AttrKey::batch_group_count) <= 1 && result_.elements() > 0 &&
           rw_.shape(op_.operand(0)).elements() > 0;
  }

  // Phases fill vectors where the features alone do not. They go together only where each has as
  // many weights: zeros among them would make NaN of infinities that are no inputs of theirs.
  bool readSpace() {
    constexpr int64_t kFewFeatures = 16, kMostKernels = 4, kMostOfFew = 16;
    int64_t kernels = 1;
    for (size_t s = 0; s < op_.ints(AttrKey::input_spatial_dimensions).size(); ++s) {
      int64_t in = op_.ints(AttrKey::input_spatial_dimensions)[s];
      int64_t out = op_.ints(AttrKey::output_spatial_dimensions)[s];
      DilatedSpace x{entry(AttrKey::lhs_dilation, s, 1), entry(AttrKey::padding, 2 * s, 0),
                     rw_.shape(op_.operand(0)).dims[in], result_.dims[out]};
      int64_t at = op_.ints(AttrKey::kernel_spatial_dimensions)[s];
      int64_t weights = rw_.shape(op_.operand(1)).dims[at];
      x.apart = (features() >= kFewFeatures && kernels * x.dilation <= kMostKernels) ||
                weights % x.dilation != 0;
      if (x.apart) kernels *= std::min(x.dilation, weights);
      space_.push_back(x);
    }
    return kernels <= kMostOfFew;
  }

  // The phases of the dimensions of space from s on.
  Value phases(size_t s, Value kernel) {
    if (s == space_.size()) return convolved(kernel);
    const DilatedSpace& x = space_[s];
    int64_t weights = rw_.shape(kernel).dims[s];
    if (!x.apart) return phases(s + 1, kernel);
    Values parts;
    const Dims dims = rw_.shape(kernel).dims;
    for (int64_t r = 0; r < x.dilation; ++r) {
      Ints start(dims.size(), 0), limit(dims.begin(), dims.end()), strides(dims.size(), 1);
      start[s] = std::min(x.dilation - 1 - r, weights);
      strides[s] = x.dilation;
      parts.push_back(phases(s + 1, rw_.slice(kernel, start, limit, strides)));
    }
    if (parts.size() == 1) return parts[0];
    Shape whole = rw_.shape(parts[0]);
    size_t dimension = 1 + space_.size() + s;
    whole.dims[dimension] = x.dilation;
    return rw_.emit(OpKind::concatenate_, parts, whole,
                    {{AttrKey::dimension, static_cast<int64_t>(dimension)}});
  }

  Dims partDims() const {
    Dims dims{batch()};
    for (const DilatedSpace& x : space_) dims.push_back(x.steps());
    for (const DilatedSpace& x : space_) dims.push_back(x.together());
    dims.push_back(features());
    return dims;
  }

  // The phases that are computed together.
  Value convolved(Value kernel) {
    Dims dims = partDims();
    if (rw_.shape(kernel).elements() == 0) return rw_.splat({result_.dtype, dims}, 0);
    kernel = phasesAsFeatures(kernel);
    Ints order{op_.integer(AttrKey::input_batch_dimension)}, padding;
    Dims sums{batch()};
    for (size_t s = 0; s < space_.size(); ++s) {
      const DilatedSpace& x = space_[s];
      order.push_back(op_.ints(AttrKey::input_spatial_dimensions)[s]);
      padding.push_back(x.low());
      padding.push_back(x.steps() + rw_.shape(kernel).dims[s] - 1 - x.inputs - x.low());
      sums.push_back(x.steps());
    }
    order.push_back(op_.integer(AttrKey::input_feature_dimension));
    sums.push_back(rw_.shape(kernel).dims[space_.size() + 1]);
    Value input = rw_.transpose(op_.operand(0), order);
    Value v = rw_.emit(OpKind::convolution_, {input, kernel}, {result_.dtype, sums},
                       plainConvolution(padding).attrs);
    return rw_.reshape(v, dims);
  }

  // Windows of all phases that are computed together are cut from the kernel at once.
  Value phasesAsFeatures(Value kernel) {
    const Dims from = rw_.shape(kernel).dims;
    Dims cut, joined;
    Ints windows, phases, turned;
    int64_t count = 1, at = 0;
    for (size_t s = 0; s < space_.size(); ++s, at += 2) {
      int64_t together = space_[s].together();
      joined.push_back(from[s] / together);
      cut.push_back(from[s] / together);
      cut.push_back(together);
      windows.push_back(at);
      phases.push_back(at + 1);
      count *= together;
    }
    cut.push_back(from[space_.size()]);
    cut.push_back(features());
    joined.push_back(from[space_.size()]);
    joined.push_back(count * features());
    turned = windows;
    turned.push_back(at);
    turned.insert(turned.end(), phases.begin(), phases.end());
    turned.push_back(at + 1);
    return rw_.reshape(rw_.transpose(reverse(rw_.reshape(kernel, cut), phases), turned), joined);
  }

  Op plainConvolution(const Ints& padding) const {
    int64_t last = static_cast<int64_t>(space_.size()) + 1;
    Ints space, behind_batch;
    for (int64_t s = 0; s + 1 < last; ++s) {
      space.push_back(s);
      behind_batch.push_back(s + 1);
    }
    Op plain;
    plain.attrs = op_.attrs;
    plain.set(AttrKey::padding, padding);
    plain.set(AttrKey::lhs_dilation, Ints(space.size(), 1));
    plain.set(AttrKey::window_reversal, Ints(space.size(), 0));
    plain.set(AttrKey::kernel_input_feature_dimension, last - 1);
    plain.set(AttrKey::kernel_output_feature_dimension, last);
    plain.set(AttrKey::kernel_spatial_dimensions, space);
    for (const ConvolutionDims& image : {kInput, kOutput}) {
      plain.set(image.batch_or_input, int64_t{0});
      plain.set(image.feature_or_output, last);
      plain.set(image.spatial, behind_batch);
    }
    return plain;
  }

  // The result of its phases.
  Value sideBySide(Value v) {
    int64_t spaces = static_cast<int64_t>(space_.size());
    Ints order{0}, start{0}, limit{batch()}, back(space_.size() + 2);
    Dims whole{batch()};
    back[op_.integer(AttrKey::output_batch_dimension)] = 0;
    for (int64_t s = 0; s < spaces; ++s) {
      const DilatedSpace& x = space_[s];
      order.push_back(1 + s);
      order.push_back(1 + spaces + s);
      whole.push_back(x.steps() * x.dilation);
      start.push_back(x.shift());
      limit.push_back(x.shift() + x.outputs);
      back[op_.ints(AttrKey::output_spatial_dimensions)[s]] = 1 + s;
    }
    order.push_back(1 + 2 * spaces);
    whole.push_back(features());
    start.push_back(0);
    limit.push_back(features());
    back[op_.integer(AttrKey::output_feature_dimension)] = 1 + spaces;
    Value all = rw_.reshape(rw_.transpose(v, order), whole);
    return rw_.transpose(rw_.slice(all, start, limit, Ints(start.size(), 1)), back);
  }

  Value reverse(Value v, const Ints& dims) {
    if (dims.empty()) return v;
    return rw_.reverse(v, dims);
  }
  Rewriter& rw_;
  const Op op_;
  const Shape result_;
  std::vector<DilatedSpace> space_;
};

}  // namespace

bool undilateConvolution(Rewriter& rw, OpId id) { return Undilation(rw, rw.op(id)).run(); }

}  // namespace tercel::passes
