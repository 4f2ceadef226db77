#include "compiler/stablehlo/lapack_calls.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <string>

#include "compiler/ir/region_builder.h"
#include "core/status.h"

namespace tercel::stablehlo {
namespace {

using ir::AttrKey;
using ir::Builder;
using ir::Ints;
using ir::OpKind;
using ir::Value;
using ir::Values;

std::string lapackName(DType dtype, std::string_view real, std::string_view complex) {
  const bool is_double = realPart(dtype) == DType::f64;
  if (isComplex(dtype)) return cat("lapack_", is_double ? 'z' : 'c', complex, "_ffi");
  return cat("lapack_", is_double ? 'd' : 's', real, "_ffi");
}

Ints descending(size_t rank) {
  Ints order(rank);
  std::iota(order.rbegin(), order.rend(), 0);
  return order;
}

Value transposed(Builder& b, Value a) {
  const size_t rank = b.shape(a).dims.size();
  Ints order(rank);
  std::iota(order.begin(), order.end(), 0);
  std::swap(order[rank - 2], order[rank - 1]);
  return b.transpose(a, order);
}

// The call on one operand, of matrices, whose first result is of their type; `others` are the types
// of the rest, which ends with an s32 of each matrix that tells of failure.
Values callLapack(Builder& b, std::string target, std::string configuration, Value a,
                  std::vector<Shape> others) {
  const size_t rank = b.shape(a).dims.size();
  Value columns = transposed(b, a);
  Ints layout = descending(rank);
  std::swap(layout[0], layout[1]);
  Ints layouts = layout;
  std::vector<ir::Type> types{{b.shape(columns), false}};
  for (Shape& shape : others) {
    const Ints row_major = descending(shape.dims.size());
    layouts.insert(layouts.end(), row_major.begin(), row_major.end());
    types.push_back({std::move(shape), false});
  }
  const ir::OpId call = b.append(OpKind::custom_call_, {columns}, types,
                                 {{AttrKey::call_target_name, std::move(target)},
                                  {AttrKey::api_version, int64_t{4}},
                                  {AttrKey::backend_config, std::move(configuration)},
                                  {AttrKey::operand_layouts, layout},
                                  {AttrKey::result_layouts, layouts},
                                  {AttrKey::output_operand_aliases, Ints{0, 0}}});
  Values results = b.module().op(call).results;
  results[0] = transposed(b, results[0]);
  return results;
}

Dims batchOf(const Shape& matrices) { return {matrices.dims.begin(), matrices.dims.end() - 2}; }

Dims with(Dims dims, int64_t last) {
  dims.push_back(last);
  return dims;
}

// v where `ok`, which has the first dims of v; else NaN.
Value orNan(Builder& b, Value ok, Value v) {
  const Shape shape = b.shape(v);
  Ints first(b.shape(ok).dims.size());
  std::iota(first.begin(), first.end(), 0);
  Value everywhere = b.broadcast(ok, {DType::pred, shape.dims}, first);
  return b.select(everywhere, v, b.splat(shape, std::numeric_limits<double>::quiet_NaN()));
}

// Of swaps [batch, steps]: the order of `rows` that they make of 0, 1, ...
Value orderOfSwaps(Builder& b, Value swaps, int64_t rows) {
  const Dims dims = b.shape(swaps).dims;
  const Shape lines{DType::s32, {dims[0], rows}};
  return ir::countedLoop(
      b, dims[1], b.iota(lines, 1), [&](Builder& inner, Value i, Value order) {
        auto spread = [&](Value v) { return inner.broadcast(v, lines, {0, 1}); };
        Value partner = spread(ir::lineOf(inner, swaps, 1, i));
        Value is_partner = inner.compare(inner.iota(lines, 1), partner, "EQ");
        Value theirs = inner.select(is_partner, order, inner.splat(lines, 0));
        theirs = inner.reshape(ir::sumOver(inner, theirs, {1}), {dims[0], 1});
        Value ours = spread(ir::lineOf(inner, order, 1, i));
        return ir::withLine(inner, inner.select(is_partner, ours, order), 1, i, theirs);
      });
}

}  // namespace

Values eigenvectors(Builder& b, Value a, bool lower) {
  const Shape shape = b.shape(a);
  const Dims batch = batchOf(shape);
  Shape values{realPart(shape.dtype), with(batch, shape.dims.back())};
  if (shape.elements() == 0) return {a, b.splat(values, 0)};
  std::string configuration = cat("{mode = ", int{'V'}, " : u8, uplo = ", int{lower ? 'L' : 'U'},
                                  " : u8}");
  Values found = callLapack(b, lapackName(shape.dtype, "syevd", "heevd"),
                            std::move(configuration), a, {values, {DType::s32, batch}});
  Value ok = b.compare(found[2], b.splat({DType::s32, batch}, 0), "EQ");
  return {orNan(b, ok, found[0]), orNan(b, ok, found[1])};
}

Values luDecomposition(Builder& b, Value a) {
  const Shape shape = b.shape(a);
  const Dims batch = batchOf(shape);
  const int64_t rows = shape.dims[batch.size()], steps = std::min(rows, shape.dims.back());
  const Shape pivots{DType::s32, with(batch, steps)}, order{DType::s32, with(batch, rows)};
  if (shape.elements() == 0)
    return {a, b.splat(pivots, 0), b.iota(order, static_cast<int64_t>(batch.size()))};
  Values found = callLapack(b, lapackName(shape.dtype, "getrf", "getrf"), "{}", a,
                            {pivots, {DType::s32, batch}});
  Value swaps = b.binary(OpKind::subtract_, found[1], b.splat(pivots, 1));
  Value lines = b.reshape(swaps, {elementCount(batch), steps});
  return {found[0], swaps, b.reshape(orderOfSwaps(b, lines, rows), order.dims)};
}

}  // namespace tercel::stablehlo
