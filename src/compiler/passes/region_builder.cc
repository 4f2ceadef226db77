#include "compiler/passes/region_builder.h"

#include <algorithm>

namespace tercel::passes {
using namespace ir;

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

}  // namespace tercel::passes
