#include "compiler/ir/region_builder.h"

#include <algorithm>

namespace tercel::ir {
namespace {

Values startingAt(Builder& b, Values operands, size_t rank, size_t dimension, Value i) {
  Value zero = b.splat({DType::s32, {}}, 0);
  for (size_t d = 0; d < rank; ++d) operands.push_back(d == dimension ? i : zero);
  return operands;
}

}  // namespace

Value sumOver(Builder& b, Value v, Ints dimensions) {
  Module& m = b.module();
  const Shape& from = m.shape(v);
  const Type scalar{Shape{from.dtype, {}}};
  Type result{scalar};
  for (int64_t d = 0; d < from.rank(); ++d)
    if (std::ranges::find(dimensions, d) == dimensions.end())
      result.shape.dims.push_back(from.dims[static_cast<size_t>(d)]);
  const RegionId body = m.addRegion();
  const Value x = m.addArg(body, scalar), y = m.addArg(body, scalar);
  m.region(body).results = {Builder(m, body).binary(OpKind::add_, x, y)};
  const Value zero = b.splat(scalar.shape, 0);
  const OpId sum = b.append(OpKind::reduce_, {v, zero}, {&result, 1},
                            {{AttrKey::dimensions, std::move(dimensions)}});
  m.op(sum).regions = {body};
  return m.op(sum).result();
}

Value lineOf(Builder& b, Value v, size_t dimension, Value i) {
  Ints sizes(b.shape(v).dims.begin(), b.shape(v).dims.end());
  sizes[dimension] = 1;
  Values operands = startingAt(b, {v}, sizes.size(), dimension, i);
  return b.build(OpKind::dynamic_slice_, std::move(operands), {{AttrKey::slice_sizes, sizes}});
}

Value withLine(Builder& b, Value v, size_t dimension, Value i, Value line) {
  const size_t rank = b.shape(v).dims.size();
  return b.build(OpKind::dynamic_update_slice_, startingAt(b, {v, line}, rank, dimension, i));
}

}  // namespace tercel::ir
