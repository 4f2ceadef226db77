#include "compiler/passes/expand_complex_product.h"

#include <numeric>

namespace tercel::passes {
namespace {

using ir::AttrKey;
using ir::Builder;
using ir::Ints;
using ir::Op;
using ir::OpKind;
using ir::Value;

// One side of the product, and which of its dimensions are batches and which one is summed over.
struct Side {
  Value v;
  Ints batch;
  int64_t summed;
};

Value inPairs(Builder& b, Value complex) { return b.bitcast(complex, pairsOf(b.shape(complex))); }

Value complexOf(Builder& b, Value pairs, DType dtype) {
  Shape shape{dtype, b.shape(pairs).dims};
  shape.dims.pop_back();
  return b.bitcast(pairs, std::move(shape));
}

// i times v
Value turned(Builder& b, Value v) {
  return b.binary(OpKind::complex_, b.unary(OpKind::negate_, b.unary(OpKind::imag_, v)),
                  b.unary(OpKind::real_, v));
}

// Both, one after the other along a new dimension.
Value stacked(Builder& b, Value first, Value second, int64_t dimension) {
  Dims dims = b.shape(first).dims;
  dims.insert(static_cast<size_t>(dimension), 1);
  return b.concatenate({b.reshape(first, dims), b.reshape(second, dims)}, dimension);
}

Ints movedUp(Ints dimensions, int64_t from) {
  for (int64_t& d : dimensions) d += d >= from;
  return dimensions;
}

Value product(Builder& b, Value lhs, Value rhs, Ints lhs_batch, Ints rhs_batch, Ints lhs_summed,
              Ints rhs_summed) {
  return b.build(OpKind::dot_general_, {lhs, rhs},
                 {{AttrKey::lhs_batching_dimensions, std::move(lhs_batch)},
                  {AttrKey::rhs_batching_dimensions, std::move(rhs_batch)},
                  {AttrKey::lhs_contracting_dimensions, std::move(lhs_summed)},
                  {AttrKey::rhs_contracting_dimensions, std::move(rhs_summed)}});
}

// Over lines of pairs (re, im): each column of `small` becomes two, that of (re, -im), which gives
// the real parts, and that of (im, re). [batches, free of large, free of small]
Value overPairs(Builder& b, const Side& large, const Side& small, DType dtype) {
  const int64_t after = small.summed + 1;
  const Value columns = inPairs(b, stacked(b, small.v, turned(b, small.v), after));
  return complexOf(b,
                   product(b, inPairs(b, large.v), columns, large.batch,
                           movedUp(small.batch, after), {large.summed, large.summed + 1},
                           {small.summed, after}),
                   dtype);
}

// Over lines of numbers, side by side with their imaginary parts: by the real parts of `small` and by
// the imaginary ones. [batches, free of small, free of large]
Value besidePairs(Builder& b, const Side& large, const Side& small, DType dtype) {
  const Value parts = stacked(b, b.unary(OpKind::real_, small.v), b.unary(OpKind::imag_, small.v), 0);
  const Value both = complexOf(b,
                               product(b, parts, inPairs(b, large.v), movedUp(small.batch, 0),
                                       large.batch, {small.summed + 1}, {large.summed}),
                               dtype);
  const Dims& dims = b.shape(both).dims;
  const size_t at = small.batch.size();
  auto part = [&](int64_t which) {
    Ints start(dims.size(), 0), limit(dims.begin(), dims.end());
    start[at] = which;
    limit[at] = which + 1;
    Dims without = b.shape(both).dims;
    without.erase(at);
    return b.reshape(b.slice(both, start, limit, Ints(limit.size(), 1)), without);
  };
  return b.binary(OpKind::add_, part(0), turned(b, part(1)));
}

// Of a result whose free dimensions are the other way round: `first` those that come first.
Value freeDimensionsSwapped(Builder& b, Value v, int64_t batches, int64_t first) {
  const int64_t rank = b.shape(v).rank();
  Ints order(static_cast<size_t>(rank));
  std::iota(order.begin(), order.begin() + batches, 0);
  std::iota(order.begin() + batches, order.end() - first, batches + first);
  std::iota(order.end() - first, order.end(), batches);
  return b.transpose(v, std::move(order));
}

// Less is done without memory between.
bool isWorthIt(const Shape& lhs, const Shape& rhs, const Shape& result, int64_t summed) {
  constexpr int64_t kFewestSummed = 16, kFewestProducts = 8'000;
  return summed >= kFewestSummed && result.elements() > 1 && lhs.elements() > 0 &&
         rhs.elements() > 0 && result.elements() * summed >= kFewestProducts;
}

}  // namespace

Value expandComplexProduct(Builder& b, const Op& op) {
  const DType dtype = b.shape(op.result()).dtype;
  const Ints &lhs_summed = op.ints(AttrKey::lhs_contracting_dimensions),
             &rhs_summed = op.ints(AttrKey::rhs_contracting_dimensions);
  if (!isComplex(dtype) || lhs_summed.size() != 1) return {};
  const Side lhs{op.operand(0), op.ints(AttrKey::lhs_batching_dimensions), lhs_summed[0]};
  const Side rhs{op.operand(1), op.ints(AttrKey::rhs_batching_dimensions), rhs_summed[0]};
  const Shape left = b.shape(lhs.v), right = b.shape(rhs.v);
  const int64_t summed = left.dims[static_cast<size_t>(lhs.summed)];
  if (left.dtype != dtype || right.dtype != dtype ||
      !isWorthIt(left, right, b.shape(op.result()), summed))
    return {};
  const bool lhs_is_large = left.elements() >= right.elements();
  const Side &large = lhs_is_large ? lhs : rhs, &small = lhs_is_large ? rhs : lhs;
  const bool along = large.summed + 1 == b.shape(large.v).rank();
  const Value v = along ? overPairs(b, large, small, dtype) : besidePairs(b, large, small, dtype);
  const Side& first = along ? large : small;
  if (&first == &lhs) return v;
  const auto batches = static_cast<int64_t>(lhs.batch.size());
  return freeDimensionsSwapped(b, v, batches, b.shape(first.v).rank() - batches - 1);
}

}  // namespace tercel::passes
