// Ops that cut pieces out of arrays and join pieces to arrays.
#include <algorithm>

#include "compiler/passes/constants.h"
#include "compiler/passes/dimensions.h"
#include "compiler/passes/rules.h"

namespace tercel::passes {
using namespace ir;
namespace {

// One side of a slice: its start and stride in every dimension, and the size that comes out.
struct Cut {
  Ints start, stride, size;

  explicit Cut(size_t rank) : start(rank, 0), stride(rank, 1), size(rank, 1) {}
  Cut(const Rewriter& rw, const Op& slice)
      : start(slice.ints(AttrKey::start_indices)), stride(slice.ints(AttrKey::strides)) {
    for (int64_t d : rw.shape(slice.result()).dims) size.push_back(d);
    for (size_t d = 0; d < size.size(); ++d)
      if (size[d] == 1) stride[d] = 1;
  }
  int64_t last(size_t d) const { return start[d] + (size[d] - 1) * stride[d]; }
};

Value emitCut(Rewriter& rw, Value x, const Cut& cut) {
  Ints limit;
  for (size_t d = 0; d < cut.start.size(); ++d) limit.push_back(cut.last(d) + 1);
  return rw.slice(x, cut.start, std::move(limit), cut.stride);
}

Value sliceOfSlice(Rewriter& rw, const Cut& cut, const Op& inner) {
  Cut both(rw, inner);
  for (size_t d = 0; d < cut.start.size(); ++d) {
    both.start[d] += cut.start[d] * both.stride[d];
    both.stride[d] *= cut.stride[d];
  }
  both.size = cut.size;
  return emitCut(rw, inner.operand(0), both);
}

Value sliceOfBroadcast(Rewriter& rw, const Cut& cut, const Op& inner, const Dims& to) {
  const Ints& where = inner.ints(AttrKey::broadcast_dimensions);
  Cut part(where.size());
  for (size_t i = 0; i < where.size(); ++i) {
    part.start[i] = cut.start[where[i]];
    part.stride[i] = cut.stride[where[i]];
    part.size[i] = cut.size[where[i]];
  }
  return rw.broadcast(emitCut(rw, inner.operand(0), part), to, where);
}

Value sliceOfTranspose(Rewriter& rw, const Cut& cut, const Op& inner) {
  const Ints& permutation = inner.ints(AttrKey::permutation);
  Cut part(permutation.size());
  for (size_t i = 0; i < permutation.size(); ++i) {
    part.start[permutation[i]] = cut.start[i];
    part.stride[permutation[i]] = cut.stride[i];
    part.size[permutation[i]] = cut.size[i];
  }
  return rw.transpose(emitCut(rw, inner.operand(0), part), permutation);
}

// Through a reshape that only adds or removes dimensions of 1, of which a slice takes all.
Value sliceOfReshape(Rewriter& rw, const Cut& cut, const Op& inner, const Dims& to) {
  const Dims& wide = rw.shape(inner.operand(0)).dims;
  const Dims& from = rw.shape(inner.result()).dims;
  if (!differInUnitsOnly(wide, from)) return {};
  Cut part(wide.size());
  size_t i = 0;
  for (size_t d = 0; d < wide.size(); ++d) {
    if (wide[d] == 1) continue;
    while (from[i] == 1) ++i;
    part.start[d] = cut.start[i];
    part.stride[d] = cut.stride[i];
    part.size[d] = cut.size[i++];
  }
  return rw.reshape(emitCut(rw, inner.operand(0), part), to);
}

// Wholly in what was padded, or wholly in the padding.
Value sliceOfPad(Rewriter& rw, const Cut& cut, const Op& inner, const Dims& to) {
  const Dims& from = rw.shape(inner.operand(0)).dims;
  Cut part = cut;
  bool inside = true;
  for (size_t d = 0; d < from.size(); ++d) {
    int64_t low = inner.ints(AttrKey::edge_padding_low)[d];
    if (low < 0) return {};
    bool dilated = inner.ints(AttrKey::interior_padding)[d] != 0;
    int64_t end = low + from[d] + (from[d] - 1) * inner.ints(AttrKey::interior_padding)[d];
    if (cut.last(d) < low || cut.start[d] >= end) return rw.broadcast(inner.operand(1), to, {});
    part.start[d] -= low;
    inside = inside && !dilated && part.start[d] >= 0 && part.last(d) < from[d];
  }
  return inside ? emitCut(rw, inner.operand(0), part) : Value{};
}

// Of an array that is repeated end to end, as jnp.tile writes it: the end of one copy, whole copies,
// and the start of one.
Value sliceOfCopies(Rewriter& rw, const Cut& cut, const Op& inner, const Shape& to) {
  const Op* copies = rw.def(inner.operand(0), OpKind::broadcast_in_dim_);
  const Dims& from = rw.shape(inner.result()).dims;
  if (!copies || from.empty() || cut.stride[0] != 1) return {};
  const Dims& wide = rw.shape(copies->result()).dims;
  const Ints& where = copies->ints(AttrKey::broadcast_dimensions);
  const auto row = static_cast<size_t>(std::ranges::find(where, 0) - where.begin());
  const bool are_copies = row == where.size() || rw.shape(copies->operand(0)).dims[row] == 1;
  if (!are_copies || wide.size() != from.size() + 1 || wide[0] * wide[1] != from[0] ||
      !std::equal(from.begin() + 1, from.end(), wide.begin() + 2))
    return {};
  const int64_t length = wide[1];
  Values pieces;
  for (int64_t at = cut.start[0], end = cut.last(0) + 1; at < end;) {
    const int64_t begin = at % length, whole = begin == 0 ? (end - at) / length : 0;
    Cut part = cut;
    part.start[0] = begin;
    part.size[0] = whole > 0 ? length : std::min(length - begin, end - at);
    part.start.insert(part.start.begin(), at / length);
    part.stride.insert(part.stride.begin(), 1);
    part.size.insert(part.size.begin(), std::max<int64_t>(whole, 1));
    Dims dims = to.dims;
    dims[0] = part.size[0] * part.size[1];
    pieces.push_back(rw.reshape(emitCut(rw, copies->result(), part), dims));
    at += dims[0];
  }
  if (pieces.size() == 1) return pieces[0];
  return rw.emit(OpKind::concatenate_, pieces, to, {{AttrKey::dimension, int64_t{0}}});
}

// The pieces of the parts that the slice touches. An array that many slices cross the joints of, as a
// padded image under a large window, is better made once.
Value sliceOfConcatenate(Rewriter& rw, const Cut& cut, const Op& inner, const Shape& to) {
  constexpr uint32_t kMostAcross = 12;
  size_t along = static_cast<size_t>(inner.integer(AttrKey::dimension));
  Values pieces;
  int64_t begin = 0;
  for (Value part : inner.operands) {
    int64_t end = begin + rw.shape(part).dims[along];
    Cut piece = cut;
    piece.start[along] = std::max<int64_t>(cut.start[along] - begin, 0);
    if (cut.start[along] >= begin && cut.last(along) < end) return emitCut(rw, part, piece);
    // Where a stride crosses from part to part is not followed.
    if (cut.stride[along] != 1) {
      begin = end;
      continue;
    }
    piece.size[along] = std::min(end, cut.last(along) + 1) - begin - piece.start[along];
    if (piece.size[along] > 0) pieces.push_back(emitCut(rw, part, piece));
    begin = end;
  }
  if (cut.stride[along] != 1 || rw.otherUses(inner.result()) > kMostAcross) return {};
  return rw.emit(OpKind::concatenate_, pieces, to, {{AttrKey::dimension, int64_t(along)}});
}

// Of an update at a known place that nothing else reads: of what is put there, of what is around it,
// or a smaller update.
Value sliceOfUpdate(Rewriter& rw, const Cut& cut, const Op& inner) {
  const Value x = inner.operand(0), update = inner.operand(1);
  const Dims& dims = rw.shape(update).dims;
  const auto low = scalarIntegers(rw, std::span(inner.operands).subspan(2));
  if (!low || rw.otherUses(inner.result()) > 0) return {};
  Cut whole = cut, part = cut;
  Values at;
  bool inside = true;
  for (size_t d = 0; d < dims.size(); ++d) {
    const int64_t begin = cut.start[d] - (*low)[d], end = cut.last(d) - (*low)[d];
    if (end < 0 || begin >= dims[d]) return emitCut(rw, x, cut);
    inside = inside && begin >= 0 && end < dims[d];
    whole.start[d] = begin;
    part.start[d] = std::max<int64_t>(begin, 0);
    part.size[d] = std::min(end + 1, dims[d]) - part.start[d];
    at.push_back(rw.like(inner.operand(2), static_cast<double>(std::max<int64_t>(-begin, 0))));
  }
  if (inside) return emitCut(rw, update, whole);
  if (std::ranges::any_of(cut.stride, [](int64_t s) { return s != 1; })) return {};
  return rw.dynamicUpdateSlice(emitCut(rw, x, cut), emitCut(rw, update, part), at);
}

Value sliceRule(Rewriter& rw, const Op& op) {
  Value x = op.operand(0);
  const Dims& to = rw.shape(op.result()).dims;
  if (rw.shape(x).dims == to) return x;
  if (const Literal* splat = splatOf(rw, x)) return rw.constant(withShape(*splat, to));
  const Op* inner = rw.def(x);
  if (!inner) return {};
  Cut cut(rw, op);
  switch (inner->kind) {
    case OpKind::broadcast_in_dim_:
      return sliceOfBroadcast(rw, cut, *inner, to);
    case OpKind::concatenate_:
      return sliceOfConcatenate(rw, cut, *inner, rw.shape(op.result()));
    case OpKind::dynamic_update_slice_:
      return sliceOfUpdate(rw, cut, *inner);
    case OpKind::pad_:
      return sliceOfPad(rw, cut, *inner, to);
    case OpKind::reshape_:
      if (Value v = sliceOfReshape(rw, cut, *inner, to); v.valid()) return v;
      return sliceOfCopies(rw, cut, *inner, rw.shape(op.result()));
    case OpKind::slice_:
      return sliceOfSlice(rw, cut, *inner);
    case OpKind::transpose_:
      return sliceOfTranspose(rw, cut, *inner);
    default:
      return {};
  }
}

// Whether slices a and b of one array lie end to end along a dimension and agree in all others.
bool endToEnd(const Cut& a, const Cut& b, size_t along) {
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
    Cut first(rw, *a), second(rw, *b);
    if (endToEnd(first, second, along)) {
      first.size[along] += second.size[along];
      parts.back() = emitCut(rw, a->operand(0), first);
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
  Cut cut(from.size());
  for (size_t d = 0; d < from.size(); ++d) {
    if (low[d] < -kFarPadding || high[d] < -kFarPadding) return {};
    cut.start[d] = std::max<int64_t>(0, -low[d]);
    cut.size[d] = from[d] - cut.start[d] - std::max<int64_t>(0, -high[d]);
    if (cut.size[d] <= 0) return rw.broadcast(op.operand(1), rw.shape(op.result()).dims, {});
    low[d] = std::max<int64_t>(0, low[d]);
    high[d] = std::max<int64_t>(0, high[d]);
  }
  return emitPad(rw, emitCut(rw, x, cut), op.operand(1), low, high, Ints(from.size(), 0),
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
    Cut cut(starts.size());
    std::ranges::copy(*known, cut.start.begin());
    std::ranges::copy(result.dims, cut.size.begin());
    return emitCut(rw, x, cut);
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
      return sliceRule(rw, op);
    default:
      return {};
  }
}

}  // namespace tercel::passes
