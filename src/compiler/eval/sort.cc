#include "compiler/eval/sort.h"

#include <numeric>

#include "compiler/eval/element_arrays.h"
#include "compiler/eval/index_space.h"

namespace tercel::eval {
namespace {

using Order = std::vector<int64_t>;

// Merges the sorted runs [begin, middle) and [middle, end) of `from`; ties keep their order.
template <class Less>
void merge(const Order& from, size_t begin, size_t middle, size_t end, Order& to, Less& less) {
  size_t a = begin, b = middle;
  for (size_t i = begin; i < end; ++i) {
    bool take_b = a == middle || (b < end && less(from[b], from[a]));
    to[i] = take_b ? from[b++] : from[a++];
  }
}

// Bottom-up merge sort: stays inside its arrays whatever a comparator answers, where
// std::stable_sort asks for a strict weak ordering.
template <class Less>
void mergeSort(Order& order, Less&& less) {
  Order other(order.size());
  for (size_t run = 1; run < order.size(); run *= 2) {
    for (size_t begin = 0; begin < order.size(); begin += 2 * run)
      merge(order, begin, std::min(begin + run, order.size()),
            std::min(begin + 2 * run, order.size()), other, less);
    order.swap(other);
  }
}

// Calls f(first) with the first element of each line along dimension d.
template <class F>
void forEachLine(const Shape& shape, size_t d, F&& f) {
  Dims lines = shape.dims, strides = rowMajorStrides(shape.dims);
  if (shape.dims[d] == 0) return;
  lines[d] = 1;
  forEachIndex(lines, [&](const Dims& index) { f(position(index, strides)); });
}

void copyElement(const Input& from, int64_t from_at, Output& to, int64_t to_at) {
  size_t size = byteSize(from.shape().dtype);
  std::memcpy(to.bytes() + to_at * static_cast<int64_t>(size),
              from.bytes() + from_at * static_cast<int64_t>(size), size);
}

int64_t log2Ceil(int64_t n) {
  int64_t log = 0;
  while ((int64_t{1} << log) < n) ++log;
  return log;
}

}  // namespace

Result<Literals> evalSort(Evaluation& evaluation, const Op& op, Operands operands) {
  ScalarFunction comparator(evaluation, op.regions[0], Rounding::each_op);
  const Shape& shape = operands[0].shape();
  auto d = static_cast<size_t>(op.integer(AttrKey::dimension));
  int64_t size = shape.dims[d], stride = rowMajorStrides(shape.dims)[d];
  int64_t comparisons = shape.elements() * (1 + log2Ceil(size));
  TERCEL_TRY(evaluation.charge(comparisons * comparator.cost()));
  std::vector<Input> in(operands.begin(), operands.end());
  std::vector<Output> out;
  for (const Literal& operand : operands) out.emplace_back(operand.shape());
  std::vector<const void*> args(2 * operands.size());
  Status status;
  auto less = [&](int64_t a, int64_t b) {
    for (size_t i = 0; i < in.size(); ++i) {
      auto element = static_cast<int64_t>(byteSize(in[i].shape().dtype));
      args[2 * i] = in[i].bytes() + a * element;
      args[2 * i + 1] = in[i].bytes() + b * element;
    }
    bool is_less = false;
    void* results[] = {&is_less};
    if (status.ok()) status = comparator.apply(args, results);
    return is_less;
  };
  Order order(static_cast<size_t>(size));
  forEachLine(shape, d, [&](int64_t first) {
    for (int64_t i = 0; i < size; ++i) order[static_cast<size_t>(i)] = first + i * stride;
    mergeSort(order, less);
    for (size_t k = 0; k < in.size(); ++k)
      for (int64_t i = 0; i < size; ++i)
        copyElement(in[k], order[static_cast<size_t>(i)], out[k], first + i * stride);
  });
  TERCEL_TRY(status);
  Literals results;
  for (Output& sorted : out) results.push_back(sorted.take());
  return results;
}

Result<Literals> evalTopK(Evaluation& evaluation, const Op& op, Operands operands) {
  Input in(operands[0]);
  const Shape& shape = in.shape();
  if (isComplex(shape.dtype) || shape.dims.empty())
    return unimplemented("top_k of ", toString(shape));
  Output values(evaluation.resultShape(op, 0)), indices(evaluation.resultShape(op, 1));
  int64_t size = shape.dims.back(), k = values.shape().dims.back(), line = 0;
  TERCEL_TRY(evaluation.charge(shape.elements() * (1 + log2Ceil(size))));
  Order order(static_cast<size_t>(size));
  visitDType(shape.dtype, [&]<class T>() {
    if constexpr (!kIsComplex<T>) {
      auto key = [&](int64_t at) {
        if constexpr (kIsFloat<T>)
          return totalOrderKey(in.data<T>()[at]);
        else
          return in.data<T>()[at];
      };
      auto greater = [&](int64_t a, int64_t b) { return key(a) > key(b); };
      forEachLine(shape, shape.dims.size() - 1, [&](int64_t first) {
        std::iota(order.begin(), order.end(), first);
        mergeSort(order, greater);
        for (int64_t i = 0; i < k; ++i) {
          int64_t at = order[static_cast<size_t>(i)];
          copyElement(in, at, values, line * k + i);
          indices.data<int32_t>()[line * k + i] = static_cast<int32_t>(at - first);
        }
        ++line;
      });
    }
  });
  return Literals{values.take(), indices.take()};
}

}  // namespace tercel::eval
