#include "compiler/passes/element_range.h"

#include <algorithm>
#include <numeric>

#include "compiler/passes/constants.h"

namespace tercel::passes {
using namespace ir;
namespace {

constexpr Range kUnknown{INT64_MIN, INT64_MAX};

Range rangeOfLiteral(const Literal& literal) {
  return visitDType(literal.shape().dtype, [&]<class T>() {
    Range range = rangeOfType(literal.shape().dtype);
    if constexpr (std::is_integral_v<T>) {
      const T* data = reinterpret_cast<const T*>(literal.bytes().data());
      auto [low, high] = std::minmax_element(data, data + literal.bytes().size() / sizeof(T));
      if (!std::is_same_v<T, uint64_t> || static_cast<uint64_t>(*high) <= INT64_MAX)
        range = {static_cast<int64_t>(*low), static_cast<int64_t>(*high)};
    }
    return range;
  });
}

Range joined(Range a, Range b) { return {std::min(a.low, b.low), std::max(a.high, b.high)}; }

// Nothing where 64 bits do not hold it.
std::optional<Range> rangeFrom(__int128 low, __int128 high) {
  if (low < INT64_MIN || high > INT64_MAX) return {};
  return Range{static_cast<int64_t>(low), static_cast<int64_t>(high)};
}

Range atLeast(Range a, Range b) { return {std::max(a.low, b.low), std::max(a.high, b.high)}; }
Range atMost(Range a, Range b) { return {std::min(a.low, b.low), std::min(a.high, b.high)}; }

// Of the numbers before they wrap; `of` has those of the operands.
std::optional<Range> rangeOfOp(OpKind kind, const SmallVector<Range, 4>& of) {
  switch (kind) {
    case OpKind::add_:
      return rangeFrom(__int128{of[0].low} + of[1].low, __int128{of[0].high} + of[1].high);
    case OpKind::subtract_:
      return rangeFrom(__int128{of[0].low} - of[1].high, __int128{of[0].high} - of[1].low);
    case OpKind::multiply_: {
      const auto [low, high] = std::minmax({__int128{of[0].low} * of[1].low,
                                            __int128{of[0].low} * of[1].high,
                                            __int128{of[0].high} * of[1].low,
                                            __int128{of[0].high} * of[1].high});
      return rangeFrom(low, high);
    }
    case OpKind::and_:  // no more than one that has no sign
      if (of[0].low >= 0 && of[1].low >= 0) return Range{0, atMost(of[0], of[1]).high};
      if (of[0].low >= 0 || of[1].low >= 0) return Range{0, of[of[0].low >= 0 ? 0 : 1].high};
      return {};
    case OpKind::clamp_:
      return atMost(atLeast(of[0], of[1]), of[2]);
    case OpKind::maximum_:
      return atLeast(of[0], of[1]);
    case OpKind::minimum_:
      return atMost(of[0], of[1]);
    case OpKind::select_:
      return joined(of[1], of[2]);
    case OpKind::concatenate_:
    case OpKind::pad_:
      return std::accumulate(of.begin(), of.end(), of[0], joined);
    case OpKind::broadcast_in_dim_:
    case OpKind::convert_:
    case OpKind::dynamic_slice_:
    case OpKind::gather_:
    case OpKind::reshape_:
    case OpKind::reverse_:
    case OpKind::slice_:
    case OpKind::transpose_:
      return of[0];
    default:
      return {};
  }
}

}  // namespace

bool hasRange(DType type) { return isPred(type) || (isInteger(type) && type != DType::u64); }

Range rangeOfType(DType type) {
  if (!hasRange(type) || type == DType::s64) return kUnknown;
  const int bits = isPred(type) ? 1 : bitWidth(type);
  const int64_t half = int64_t{1} << (bits - 1);
  return isSigned(type) ? Range{-half, half - 1} : Range{0, 2 * half - 1};
}

Range ElementRanges::of(const Rewriter& rw, Value v, int depth) {
  if (const auto at = known_.find(v.index); at != known_.end()) return at->second;
  const Range range = found(rw, v, depth);
  known_.emplace(v.index, range);
  return range;
}

Range ElementRanges::found(const Rewriter& rw, Value v, int depth) {
  const Range all = rangeOfType(rw.shape(v).dtype);
  const Op* op = rw.def(v);
  if (!op || depth == 0 || op->results.size() != 1) return all;
  if (op->kind == OpKind::constant_)
    return op->literal().shape().elements() == 0 ? all : rangeOfLiteral(op->literal());
  if (op->kind == OpKind::iota_ && isInteger(rw.shape(v).dtype)) {
    const int64_t count = rw.shape(v).dims[op->integer(AttrKey::iota_dimension)];
    return count > 0 && count - 1 <= all.high ? Range{0, count - 1} : all;
  }
  SmallVector<Range, 4> operands;
  for (Value operand : op->operands) {
    const DType type = rw.shape(operand).dtype;
    operands.push_back(isInteger(type) || isPred(type) ? of(rw, operand, depth - 1) : kUnknown);
  }
  const std::optional<Range> own = rangeOfOp(op->kind, operands);
  if (!own || own->low < all.low || own->high > all.high) return all;
  const bool may_wrap = own->low < 0 || own->high == INT64_MAX;
  return rw.shape(v).dtype == DType::u64 && may_wrap ? all : *own;
}

std::optional<bool> ElementRanges::decides(const Rewriter& rw, const Op& compare) {
  constexpr int kDepth = 24;  // of selects and sums; each is looked at once
  const DType type = rw.shape(compare.operand(0)).dtype;
  if (!isInteger(type) || !hasRange(type) || !splatOf(rw, compare.operand(1))) return {};
  return decided(compare.symbol(AttrKey::comparison_direction), of(rw, compare.operand(0), kDepth),
                 of(rw, compare.operand(1)));
}

bool ElementRanges::areShiftedOut(const Rewriter& rw, const Op& shift) {
  const Literal* by = splatOf(rw, shift.operand(1));
  if (!by) return false;
  const double bits = by->number(0);
  const Range range = of(rw, shift.operand(0));
  return bits >= 0 && bits < 63 && range.low >= 0 && range.high >> static_cast<int>(bits) == 0;
}

}  // namespace tercel::passes
