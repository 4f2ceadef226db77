#include "compiler/eval/reduction.h"

#include "compiler/eval/element_arrays.h"
#include "compiler/eval/index_space.h"

namespace tercel::eval {
namespace {

// The accumulators of a reduction: function(accumulators..., elements...) -> accumulators.
class Reducer {
 public:
  Reducer(Evaluation& evaluation, const Op& op, Operands operands)
      : function_(evaluation, op.regions[0], Rounding::at_end),
        count_(operands.size() / 2),
        inputs_(operands.first(count_), function_, count_),
        args_(2 * count_),
        results_(count_) {
    const Dims& dims = evaluation.resultShape(op).dims;
    for (size_t i = 0; i < count_; ++i)
      accumulators_.add(operands[count_ + i], function_.resultType(i), dims);
  }

  int64_t cost() const { return function_.cost(); }
  // accumulators[to] = function(accumulators[to], inputs[from])
  Status add(int64_t to, int64_t from) {
    accumulators_.point(to, args_.data());
    accumulators_.point(to, results_.data());
    inputs_.point(from, args_.data() + count_);
    return function_.apply(args_, results_);
  }
  Literals take(const Evaluation& evaluation, const Op& op) {
    return accumulators_.take(evaluation, op);
  }

 private:
  ScalarFunction function_;
  size_t count_;
  InputArrays inputs_;
  OutputArrays accumulators_;
  std::vector<const void*> args_;
  std::vector<void*> results_;
};

// Strides of the result over the dimensions of the operand; 0 over those that are reduced.
Dims resultStrides(const Op& op, const Shape& operand, const Shape& result) {
  Dims strides(operand.dims.size()), kept = rowMajorStrides(result.dims);
  const Ints& reduced = op.ints(AttrKey::dimensions);
  for (size_t d = 0, next = 0; d < strides.size(); ++d)
    if (std::ranges::find(reduced, static_cast<int64_t>(d)) == reduced.end())
      strides[d] = kept[next++];
  return strides;
}

// The window of a reduce_window or select_and_scatter; missing attributes are all ones, or zeros.
class Window {
 public:
  Window(const Op& op, const Shape& operand)
      : operand_(operand.dims),
        strides_(rowMajorStrides(operand.dims)),
        size_(op.ints(AttrKey::window_dimensions)),
        step_(orAll(op.ints(AttrKey::window_strides), 1)),
        base_dilation_(orAll(op.ints(AttrKey::base_dilations), 1)),
        window_dilation_(orAll(op.ints(AttrKey::window_dilations), 1)),
        padding_(op.ints(AttrKey::padding)) {
    if (padding_.empty()) padding_.resize(2 * operand_.size());
  }

  const Ints& size() const { return size_; }

  // The operand's element under `offset` of the window at `window`; -1 for padding and holes.
  int64_t elementAt(const Dims& window, const Dims& offset) const {
    int64_t at = 0;
    for (size_t d = 0; d < operand_.size(); ++d) {
      int64_t i = window[d] * step_[d] + offset[d] * window_dilation_[d] - padding_[2 * d];
      if (i < 0 || i % base_dilation_[d] != 0) return -1;
      i /= base_dilation_[d];
      if (i >= operand_[d]) return -1;
      at += i * strides_[d];
    }
    return at;
  }

 private:
  Ints orAll(const Ints& given, int64_t number) const {
    return given.empty() ? Ints(operand_.size(), number) : given;
  }

  Dims operand_, strides_;
  Ints size_, step_, base_dilation_, window_dilation_, padding_;
};

// The element that `select` keeps of those under the window; -1 where all of it is padding.
Result<int64_t> selectedElement(const Window& window, const Dims& at, ScalarFunction& select,
                                const InputArrays& operand) {
  int64_t selected = -1;
  Status status;
  forEachIndex(window.size(), [&](const Dims& offset) {
    int64_t candidate = window.elementAt(at, offset);
    if (candidate < 0 || !status.ok()) return;
    bool keep = false;
    if (selected >= 0) {
      const void* args[2];
      operand.point(selected, &args[0]);
      operand.point(candidate, &args[1]);
      void* results[] = {&keep};
      status = select.apply(args, results);
    }
    if (!keep) selected = candidate;
  });
  if (!status.ok()) return status;
  return selected;
}

}  // namespace

Result<Literals> evalReduce(Evaluation& evaluation, const Op& op, Operands operands) {
  Reducer reducer(evaluation, op, operands);
  const Shape& operand = operands[0].shape();
  TERCEL_TRY(evaluation.charge(operand.elements() * reducer.cost()));
  Dims strides = resultStrides(op, operand, evaluation.resultShape(op));
  int64_t from = 0;
  Status status;
  forEachIndex(operand.dims, [&](const Dims& index) {
    if (status.ok()) status = reducer.add(position(index, strides), from++);
  });
  TERCEL_TRY(status);
  return reducer.take(evaluation, op);
}

// Padding is left out rather than combined (they differ where the initial value is not neutral).
Result<Literals> evalReduceWindow(Evaluation& evaluation, const Op& op, Operands operands) {
  Reducer reducer(evaluation, op, operands);
  Window window(op, operands[0].shape());
  const Shape& result = evaluation.resultShape(op);
  int64_t under_window = elementCount(window.size());
  int64_t to = 0;
  Status status = evaluation.charge(result.elements());
  forEachIndex(result.dims, [&](const Dims& at) {
    if (status.ok()) status = evaluation.charge(under_window * reducer.cost());
    if (!status.ok()) return;
    forEachIndex(window.size(), [&](const Dims& offset) {
      int64_t from = window.elementAt(at, offset);
      if (from >= 0 && status.ok()) status = reducer.add(to, from);
    });
    ++to;
  });
  TERCEL_TRY(status);
  return reducer.take(evaluation, op);
}

Result<Literals> evalSelectAndScatter(Evaluation& evaluation, const Op& op, Operands operands) {
  ScalarFunction select(evaluation, op.regions[0], Rounding::each_op);
  ScalarFunction scatter(evaluation, op.regions[1], Rounding::at_end);
  Window window(op, operands[0].shape());
  InputArrays operand(operands.first(1), select, 0), source(operands.subspan(1, 1), scatter, 1);
  OutputArrays result;
  result.add(operands[2], scatter.resultType(0), operands[0].shape().dims);
  const Shape& windows = operands[1].shape();
  int64_t work = elementCount(window.size()) * (select.cost() + scatter.cost());
  int64_t from = 0;
  Status status;
  forEachIndex(windows.dims, [&](const Dims& at) {
    if (status.ok()) status = evaluation.charge(work);
    if (!status.ok()) return;
    Result<int64_t> to = selectedElement(window, at, select, operand);
    if (!to.ok()) status = to.status();
    int64_t element = from++;
    if (!status.ok() || *to < 0) return;
    const void* args[2];
    void* results[1];
    result.point(*to, &args[0]);
    result.point(*to, &results[0]);
    source.point(element, &args[1]);
    status = scatter.apply(args, results);
  });
  TERCEL_TRY(status);
  return result.take(evaluation, op);
}

}  // namespace tercel::eval
