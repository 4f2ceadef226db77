#include "compiler/ir/region_builder.h"

#include <algorithm>

namespace tercel::ir {
namespace {

Values startsAt(Builder& b, size_t rank, size_t dimension, Value i) {
  Values starts(rank, b.splat({DType::s32, {}}, 0));
  starts[dimension] = i;
  return starts;
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
  Dims sizes = b.shape(v).dims;
  sizes[dimension] = 1;
  return b.dynamicSlice(v, startsAt(b, sizes.size(), dimension, i), sizes);
}

Value withLine(Builder& b, Value v, size_t dimension, Value i, Value line) {
  return b.dynamicUpdateSlice(v, line, startsAt(b, b.shape(v).dims.size(), dimension, i));
}

}  // namespace tercel::ir
