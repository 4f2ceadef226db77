// Ops that cut pieces out of arrays and join pieces to arrays.
#include <algorithm>

#include "compiler/passes/constants.h"
#include "compiler/passes/dimensions.h"
#include "compiler/passes/pieces.h"
#include "compiler/passes/rules.h"

namespace tercel::passes {
using namespace ir;
namespace {

// Whether slices a and b of one array lie end to end along a dimension and agree in all others.
bool endToEnd(const Piece& a, const Piece& b, size_t along) {
  for (size_t d = 0; d < a.start.size(); ++d) {
    if (a.stride[d] != b.stride[d]) return false;
    if (d == along) continue;
    if (a.start[d] != b.start[d] || a.size[d] != b.size[d]) return false;
  }
  return b.start[along] == a.start[along] + a.size[along] * a.stride[along];
}

// Appends a part to a list of them; where it continues the last one, as a slice of one array, they
// become one slice.
void appendPart(Rewriter& rw, Values& parts, Value part, size_t along) {
  const Op* b = rw.def(part, OpKind::slice_);
  const Op* a = parts.empty() ? nullptr : rw.def(parts.back(), OpKind::slice_);
  if (a && b && a->operand(0) == b->operand(0)) {
    Piece first(rw, *a), second(rw, *b);
    if (endToEnd(first, second, along)) {
      first.size[along] += second.size[along];
      parts.back() = emitPiece(rw, a->operand(0), first);
      return;
    }
  }
  parts.push_back(part);
}

bool allSameSplat(const Rewriter& rw, const Values& parts) {
  const Literal* first = splatOf(rw, parts[0]);
  if (!first) return false;
  for (Value part : parts) {
    const Literal* splat = splatOf(rw, part);
    if (!splat || !std::ranges::equal(splat->bytes(), first->bytes())) return false;
  }
  return true;
}

Value concatenateRule(Rewriter& rw, const Op& op) {
  int64_t along = op.integer(AttrKey::dimension);
  Values parts;
  for (Value part : op.operands) {
    if (rw.shape(part).dims[along] == 0) continue;
    const Op* inner = rw.def(part, OpKind::concatenate_);
    if (inner && inner->integer(AttrKey::dimension) == along)
      for (Value deeper : inner->operands) appendPart(rw, parts, deeper, along);
    else
      appendPart(rw, parts, part, along);
  }
  const Shape& result = rw.shape(op.result());
  if (parts.size() == 1) return parts[0];
  if (allSameSplat(rw, parts)) return rw.constant(withShape(*splatOf(rw, parts[0]), result.dims));
  if (parts == op.operands) return {};
  return rw.emit(OpKind::concatenate_, parts, result, {{AttrKey::dimension, along}});
}

bool anyNegative(const Ints& list) {
  return std::ranges::any_of(list, [](int64_t i) { return i < 0; });
}

Value emitPad(Rewriter& rw, Value x, Value value, Ints low, Ints high, Ints interior,
              const Shape& result) {
  return rw.emit(OpKind::pad_, {x, value}, result,
                 {{AttrKey::edge_padding_low, std::move(low)},
                  {AttrKey::edge_padding_high, std::move(high)},
                  {AttrKey::interior_padding, std::move(interior)}});
}

// Beyond any array; sums of padding within it do not overflow.
constexpr int64_t kFarPadding = int64_t{1} << 48;

// Padding below zero crops: a slice, and what padding is left.
Value croppedPad(Rewriter& rw, const Op& op, Ints low, Ints high) {
  Value x = op.operand(0);
  const Dims& from = rw.shape(x).dims;
  Piece cut(from.size());
  for (size_t d = 0; d < from.size(); ++d) {
    if (low[d] < -kFarPadding || high[d] < -kFarPadding) return {};
    cut.start[d] = std::max<int64_t>(0, -low[d]);
    cut.size[d] = from[d] - cut.start[d] - std::max<int64_t>(0, -high[d]);
    if (cut.size[d] <= 0) return rw.broadcast(op.operand(1), rw.shape(op.result()).dims, {});
    low[d] = std::max<int64_t>(0, low[d]);
    high[d] = std::max<int64_t>(0, high[d]);
  }
  return emitPad(rw, emitPiece(rw, x, cut), op.operand(1), low, high, Ints(from.size(), 0),
                 rw.shape(op.result()));
}

Value padRule(Rewriter& rw, const Op& op) {
  Value x = op.operand(0), value = op.operand(1);
  const Ints& low = op.ints(AttrKey::edge_padding_low);
  const Ints& high = op.ints(AttrKey::edge_padding_high);
  const Ints& interior = op.ints(AttrKey::interior_padding);
  const Shape& result = rw.shape(op.result());
  bool dilates = std::ranges::any_of(interior, [](int64_t i) { return i != 0; });
  if (rw.shape(x).elements() == 0) return rw.broadcast(value, result.dims, {});
  bool crops = anyNegative(low) || anyNegative(high);
  if (rw.shape(x) == result && !dilates && !crops) return x;
  if (allSameSplat(rw, {x, value})) return rw.constant(withShape(*splatOf(rw, x), result.dims));
  if (dilates) return {};
  if (crops) return croppedPad(rw, op, low, high);
  const Op* inner = rw.def(x, OpKind::pad_);
  if (!inner || inner->operand(1) != value) return {};
  if (anyNegative(inner->ints(AttrKey::edge_padding_low)) ||
      anyNegative(inner->ints(AttrKey::edge_padding_high)))
    return {};
  Ints both_low = low, both_high = high;
  for (size_t d = 0; d < low.size(); ++d) {
    both_low[d] += inner->ints(AttrKey::edge_padding_low)[d];
    both_high[d] += inner->ints(AttrKey::edge_padding_high)[d];
  }
  return emitPad(rw, inner->operand(0), value, both_low, both_high,
                 inner->ints(AttrKey::interior_padding), result);
}

Value reverseRule(Rewriter& rw, const Op& op) {
  Value x = op.operand(0);
  const Ints& dimensions = op.ints(AttrKey::dimensions);
  if (splatOf(rw, x)) return x;
  const Op* inner = rw.def(x);
  Ints rest;
  for (int64_t d : dimensions) {
    bool added = inner && inner->kind == OpKind::broadcast_in_dim_ &&
                 !contains(inner->ints(AttrKey::broadcast_dimensions), d);
    if (rw.shape(x).dims[d] != 1 && !added) rest.push_back(d);
  }
  if (rest.empty()) return x;
  std::ranges::sort(rest);
  if (inner && inner->kind == OpKind::reverse_) {
    Ints both;
    std::ranges::set_symmetric_difference(rest, inner->ints(AttrKey::dimensions),
                                          std::back_inserter(both));
    if (both.empty()) return inner->operand(0);
    return rw.reverse(inner->operand(0), both);
  }
  if (rest == dimensions) return {};
  return rw.reverse(x, rest);
}

// The start indices from operand `first` on: constants clamped, and 0 where there is no choice.
Values settledStarts(Rewriter& rw, const Op& op, size_t first, const Dims& sizes) {
  const Dims& dims = rw.shape(op.operand(0)).dims;
  Values starts;
  for (size_t d = 0; d < dims.size(); ++d) {
    Value start = op.operand(first + d);
    std::optional<int64_t> number = scalarInteger(rw, start);
    int64_t most = dims[d] - sizes[d];
    if (most == 0) number = 0;
    int64_t clamped = number ? std::clamp<int64_t>(*number, 0, most) : 0;
    if (number && scalarInteger(rw, start) != clamped)
      start = rw.like(start, static_cast<double>(clamped));
    starts.push_back(start);
  }
  return starts;
}

bool isTail(const Values& operands, const Values& starts) {
  return std::equal(starts.begin(), starts.end(), operands.end() - starts.size());
}

Value dynamicSliceRule(Rewriter& rw, const Op& op) {
  Value x = op.operand(0);
  const Shape& result = rw.shape(op.result());
  if (rw.shape(x) == result) return x;
  if (const Literal* splat = splatOf(rw, x)) return rw.constant(withShape(*splat, result.dims));
  Values starts = settledStarts(rw, op, 1, result.dims);
  if (auto known = scalarIntegers(rw, starts)) {
    Piece cut(starts.size());
    std::ranges::copy(*known, cut.start.begin());
    std::ranges::copy(result.dims, cut.size.begin());
    return emitPiece(rw, x, cut);
  }
  if (isTail(op.operands, starts)) return {};
  return rw.dynamicSlice(x, starts, result.dims);
}

// At a known place of an array all of whose elements are equal.
Value paddedUpdate(Rewriter& rw, const Op& op, const Values& starts) {
  const Literal* around = splatOf(rw, op.operand(0));
  const auto low = around ? scalarIntegers(rw, starts) : std::nullopt;
  if (!low) return {};
  const Shape& result = rw.shape(op.result());
  Ints high;
  for (size_t d = 0; d < starts.size(); ++d)
    high.push_back(result.dims[d] - (*low)[d] - rw.shape(op.operand(1)).dims[d]);
  const Value value = rw.constant(withShape(*around, {}));
  return emitPad(rw, op.operand(1), value, *low, high, Ints(starts.size(), 0), result);
}

Value dynamicUpdateSliceRule(Rewriter& rw, const Op& op) {
  Value x = op.operand(0), update = op.operand(1);
  if (rw.shape(update) == rw.shape(x)) return update;
  if (rw.shape(update).elements() == 0) return x;
  Values starts = settledStarts(rw, op, 2, rw.shape(update).dims);
  if (Value padded = paddedUpdate(rw, op, starts); padded.valid()) return padded;
  if (isTail(op.operands, starts)) return {};
  return rw.dynamicUpdateSlice(x, update, starts);
}

}  // namespace

Value canonicalCut(Rewriter& rw, const Op& op) {
  switch (op.kind) {
    case OpKind::concatenate_:
      return concatenateRule(rw, op);
    case OpKind::dynamic_slice_:
      return dynamicSliceRule(rw, op);
    case OpKind::dynamic_update_slice_:
      return dynamicUpdateSliceRule(rw, op);
    case OpKind::pad_:
      return padRule(rw, op);
    case OpKind::reverse_:
      return reverseRule(rw, op);
    case OpKind::slice_:
      return canonicalSlice(rw, op);
    default:
      return {};
  }
}

}  // namespace tercel::passes
