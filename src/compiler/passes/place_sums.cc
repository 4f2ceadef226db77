#include "compiler/passes/place_sums.h"

#include <algorithm>

#include "compiler/passes/rules.h"

namespace tercel::passes {
using namespace ir;
namespace {

std::span<const Value> startsOf(const Op& update) { return std::span(update.operands).subspan(2); }

bool isIndexed(const Rewriter& rw, const Op& update, DType dtype) {
  return std::ranges::all_of(startsOf(update),
                             [&](Value v) { return rw.shape(v).dtype == dtype; });
}

// Where a part really starts.
Value clamped(Rewriter& rw, Value start, int64_t last) {
  return rw.emit(OpKind::clamp_, {rw.like(start, 0), start, rw.like(start, static_cast<double>(last))},
                 rw.shape(start));
}

Value narrower(Rewriter& rw, OpKind kind, Value so_far, Value bound) {
  return so_far.valid() ? rw.binary(kind, so_far, bound) : bound;
}

}  // namespace

Value PlaceSums::add(Rewriter& rw, Value to, Value added) {
  const Op* update = rw.def(added, OpKind::dynamic_update_slice_);
  if (!update || !isZeroAroundPlaces(rw, added)) return {};
  Sum sum;
  if (const auto found = sums_.find(to.index); found != sums_.end())
    sum = found->second;
  else if (!begin(rw, to, sum))
    return {};
  if (!isIndexed(rw, *update, rw.shape(sum.first[0]).dtype)) return {};
  sum.unsigned_zeros = sumInPlace(rw, sum.unsigned_zeros, added);
  if (!sum.unsigned_zeros.valid()) return {};
  narrow(rw, *update, sum);
  const Value result = signZeros(rw, sum);
  sums_[result.index] = std::move(sum);
  return result;
}

bool PlaceSums::begin(const Rewriter& rw, Value v, Sum& sum) {
  const Op* update = rw.def(v, OpKind::dynamic_update_slice_);
  if (!update || !isZeroAroundPlaces(rw, v)) return false;
  const DType index = rw.shape(update->operand(2)).dtype;
  if ((index != DType::s32 && index != DType::s64) || !isIndexed(rw, *update, index)) return false;
  const size_t rank = rw.shape(v).dims.size();
  const auto starts = startsOf(*update);
  sum = {v, Values(starts.begin(), starts.end()), rw.shape(update->operand(1)).dims, Values(rank),
         Values(rank)};
  return true;
}

void PlaceSums::narrow(Rewriter& rw, const Op& update, Sum& sum) {
  const Dims part = rw.shape(update.operand(1)).dims, whole = rw.shape(update.operand(0)).dims;
  for (size_t d = 0; d < part.size(); ++d) {
    if (part[d] == whole[d]) continue;
    const Value start = clamped(rw, update.operand(2 + d), whole[d] - part[d]);
    const Value end = rw.binary(OpKind::add_, start, rw.like(start, static_cast<double>(part[d])));
    sum.low[d] = narrower(rw, OpKind::maximum_, sum.low[d], start);
    sum.high[d] = narrower(rw, OpKind::minimum_, sum.high[d], end);
  }
}

// An added part is smaller than the whole in some dimension: there is something to compare.
Value PlaceSums::signZeros(Rewriter& rw, const Sum& sum) {
  const Shape whole = rw.shape(sum.unsigned_zeros);
  Value in_all;
  for (size_t d = 0; d < sum.part.size(); ++d) {
    if (!sum.low[d].valid()) continue;
    const Value first = clamped(rw, sum.first[d], whole.dims[d] - sum.part[d]);
    const Value at = rw.emit(OpKind::iota_, {}, {rw.shape(first).dtype, sum.part},
                             {{AttrKey::iota_dimension, static_cast<int64_t>(d)}});
    auto holds = [&](Value bound, std::string_view direction) {
      const Value own = rw.binary(OpKind::subtract_, bound, first);
      const Value test = rw.compare(at, rw.broadcast(own, sum.part, {}), direction);
      in_all = in_all.valid() ? rw.binary(OpKind::and_, in_all, test) : test;
    };
    holds(sum.low[d], "GE");
    holds(sum.high[d], "LT");
  }
  const Value before = rw.dynamicSlice(sum.unsigned_zeros, sum.first, sum.part);
  const Value positive = rw.binary(OpKind::add_, before, rw.like(before, 0));
  return rw.dynamicUpdateSlice(sum.unsigned_zeros, rw.select(in_all, before, positive), sum.first);
}

}  // namespace tercel::passes
