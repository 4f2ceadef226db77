// Slices: of what their operand was made of.
#include <algorithm>

#include "compiler/passes/constants.h"
#include "compiler/passes/dimensions.h"
#include "compiler/passes/pieces.h"
#include "compiler/passes/rules.h"

namespace tercel::passes {
using namespace ir;
namespace {

Value sliceOfSlice(Rewriter& rw, const Piece& cut, const Op& inner) {
  Piece both(rw, inner);
  for (size_t d = 0; d < cut.start.size(); ++d) {
    both.start[d] += cut.start[d] * both.stride[d];
    both.stride[d] *= cut.stride[d];
  }
  both.size = cut.size;
  return emitPiece(rw, inner.operand(0), both);
}

Value sliceOfBroadcast(Rewriter& rw, const Piece& cut, const Op& inner, const Dims& to) {
  const Ints& where = inner.ints(AttrKey::broadcast_dimensions);
  Piece part(where.size());
  for (size_t i = 0; i < where.size(); ++i) {
    part.start[i] = cut.start[where[i]];
    part.stride[i] = cut.stride[where[i]];
    part.size[i] = cut.size[where[i]];
  }
  return rw.broadcast(emitPiece(rw, inner.operand(0), part), to, where);
}

Value sliceOfTranspose(Rewriter& rw, const Piece& cut, const Op& inner) {
  const Ints& permutation = inner.ints(AttrKey::permutation);
  Piece part(permutation.size());
  for (size_t i = 0; i < permutation.size(); ++i) {
    part.start[permutation[i]] = cut.start[i];
    part.stride[permutation[i]] = cut.stride[i];
    part.size[permutation[i]] = cut.size[i];
  }
  return rw.transpose(emitPiece(rw, inner.operand(0), part), permutation);
}

// Through a reshape that only adds or removes dimensions of 1, of which a slice takes all.
Value sliceOfReshape(Rewriter& rw, const Piece& cut, const Op& inner, const Dims& to) {
  const Dims& wide = rw.shape(inner.operand(0)).dims;
  const Dims& from = rw.shape(inner.result()).dims;
  if (!differInUnitsOnly(wide, from)) return {};
  Piece part(wide.size());
  size_t i = 0;
  for (size_t d = 0; d < wide.size(); ++d) {
    if (wide[d] == 1) continue;
    while (from[i] == 1) ++i;
    part.start[d] = cut.start[i];
    part.stride[d] = cut.stride[i];
    part.size[d] = cut.size[i++];
  }
  return rw.reshape(emitPiece(rw, inner.operand(0), part), to);
}

// Wholly in what was padded, or wholly in the padding.
Value sliceOfPad(Rewriter& rw, const Piece& cut, const Op& inner, const Dims& to) {
  const Dims& from = rw.shape(inner.operand(0)).dims;
  Piece part = cut;
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
  return inside ? emitPiece(rw, inner.operand(0), part) : Value{};
}

// Of an array that is repeated end to end, as jnp.tile writes it: the end of one copy, whole copies,
// and the start of one.
Value sliceOfCopies(Rewriter& rw, const Piece& cut, const Op& inner, const Shape& to) {
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
    Piece part = cut;
    part.start[0] = begin;
    part.size[0] = whole > 0 ? length : std::min(length - begin, end - at);
    part.start.insert(part.start.begin(), at / length);
    part.stride.insert(part.stride.begin(), 1);
    part.size.insert(part.size.begin(), std::max<int64_t>(whole, 1));
    Dims dims = to.dims;
    dims[0] = part.size[0] * part.size[1];
    pieces.push_back(rw.reshape(emitPiece(rw, copies->result(), part), dims));
    at += dims[0];
  }
  if (pieces.size() == 1) return pieces[0];
  return rw.emit(OpKind::concatenate_, pieces, to, {{AttrKey::dimension, int64_t{0}}});
}

// The pieces of the parts that the slice touches. An array that many slices cross the joints of, as a
// padded image under a large window, is better made once.
Value sliceOfConcatenate(Rewriter& rw, const Piece& cut, const Op& inner, const Shape& to) {
  constexpr uint32_t kMostAcross = 12;
  size_t along = static_cast<size_t>(inner.integer(AttrKey::dimension));
  Values pieces;
  int64_t begin = 0;
  for (Value part : inner.operands) {
    int64_t end = begin + rw.shape(part).dims[along];
    Piece piece = cut;
    piece.start[along] = std::max<int64_t>(cut.start[along] - begin, 0);
    if (cut.start[along] >= begin && cut.last(along) < end) return emitPiece(rw, part, piece);
    // Where a stride crosses from part to part is not followed.
    if (cut.stride[along] != 1) {
      begin = end;
      continue;
    }
    piece.size[along] = std::min(end, cut.last(along) + 1) - begin - piece.start[along];
    if (piece.size[along] > 0) pieces.push_back(emitPiece(rw, part, piece));
    begin = end;
  }
  if (cut.stride[along] != 1 || rw.otherUses(inner.result()) > kMostAcross) return {};
  return rw.emit(OpKind::concatenate_, pieces, to, {{AttrKey::dimension, int64_t(along)}});
}

// Of an update at a known place that nothing else reads: of what is put there, of what is around it,
// or a smaller update.
Value sliceOfUpdate(Rewriter& rw, const Piece& cut, const Op& inner) {
  const Value x = inner.operand(0), update = inner.operand(1);
  const Dims& dims = rw.shape(update).dims;
  const auto low = scalarIntegers(rw, std::span(inner.operands).subspan(2));
  if (!low || rw.otherUses(inner.result()) > 0) return {};
  Piece whole = cut, part = cut;
  Values at;
  bool inside = true;
  for (size_t d = 0; d < dims.size(); ++d) {
    const int64_t begin = cut.start[d] - (*low)[d], end = cut.last(d) - (*low)[d];
    if (end < 0 || begin >= dims[d]) return emitPiece(rw, x, cut);
    inside = inside && begin >= 0 && end < dims[d];
    whole.start[d] = begin;
    part.start[d] = std::max<int64_t>(begin, 0);
    part.size[d] = std::min(end + 1, dims[d]) - part.start[d];
    at.push_back(rw.like(inner.operand(2), static_cast<double>(std::max<int64_t>(-begin, 0))));
  }
  if (inside) return emitPiece(rw, update, whole);
  if (std::ranges::any_of(cut.stride, [](int64_t s) { return s != 1; })) return {};
  return rw.dynamicUpdateSlice(emitPiece(rw, x, cut), emitPiece(rw, update, part), at);
}

}  // namespace

Value canonicalSlice(Rewriter& rw, const Op& op) {
  Value x = op.operand(0);
  const Dims& to = rw.shape(op.result()).dims;
  if (rw.shape(x).dims == to) return x;
  if (const Literal* splat = splatOf(rw, x)) return rw.constant(withShape(*splat, to));
  const Op* inner = rw.def(x);
  if (!inner) return {};
  Piece cut(rw, op);
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

}  // namespace tercel::passes
