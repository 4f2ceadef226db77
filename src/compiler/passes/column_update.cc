// x.at[..., k].set(v) of rows that a cache line holds: a choice in each row. To store each element
// on its own takes longer than the row in vectors, and touches all lines as well; what comes before
// and after is fused with it, and it may be made in x's memory as an update may.
#include <algorithm>
#include <utility>

#include "compiler/passes/constants.h"
#include "compiler/passes/dimensions.h"
#include "compiler/passes/rules.h"

namespace tercel::passes {
using namespace ir;
namespace {

constexpr int64_t kLineBytes = 64;
constexpr int64_t kFewestRows = 64;  // fewer are updated in registers

// Whether nothing needs to be copied: an array that is filled and then updated, whose updates are
// joined (join_updates), and what a loop carries, which is updated where it lies.
bool isUpdatedInPlace(const Rewriter& rw, Value v, bool in_loop) {
  while (const Op* update = rw.def(v, OpKind::dynamic_update_slice_)) v = update->operand(0);
  return splatOf(rw, v) || rw.def(v, OpKind::broadcast_in_dim_) || (in_loop && !rw.def(v));
}

}  // namespace

Value updateColumn(Rewriter& rw, const Op& op, bool in_loop) {
  const Value x = op.operand(0), update = op.operand(1);
  const Shape shape = rw.shape(x);
  Dims column = shape.dims;
  if (column.size() < 2 || column.back() < 2) return {};
  const int64_t length = std::exchange(column.back(), 1);
  if (rw.shape(update).dims != column || elementCount(column) < kFewestRows ||
      length * static_cast<int64_t>(byteSize(shape.dtype)) > kLineBytes ||
      isUpdatedInPlace(rw, x, in_loop))
    return {};
  const auto place = scalarInteger(rw, op.operands.back());
  if (!place) return {};
  const auto last = static_cast<int64_t>(column.size()) - 1;
  const Shape row{DType::s32, {length}};
  const Value lanes = rw.emit(OpKind::iota_, {}, row, {{AttrKey::iota_dimension, int64_t{0}}});
  const auto at = static_cast<double>(std::clamp<int64_t>(*place, 0, length - 1));
  const Value here = rw.compare(lanes, rw.splat(row, at), "EQ");
  column.pop_back();
  return rw.select(rw.broadcast(here, shape.dims, {last}),
                   rw.broadcast(rw.reshape(update, column), shape.dims, range(last)), x);
}

}  // namespace tercel::passes
