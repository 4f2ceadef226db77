#include <algorithm>

#include "compiler/passes/dimensions.h"
#include "compiler/passes/dot_sides.h"
#include "compiler/passes/layout_rules.h"

namespace tercel::passes {
using namespace ir;
namespace {

// Whether elements of the batch alternate in memory, in an operand each of whose elements is used so
// often that it is better turned first.
bool alternates(const Rewriter& rw, const DotSide& side, int64_t times) {
  constexpr int64_t kLarge = 64 << 10, kFewest = 16;
  const Dims& dims = rw.shape(side.value).dims;
  const auto rank = static_cast<int64_t>(dims.size());
  return !side.batch.empty() && contains(side.batch, rank - 1) && elementCount(dims) >= kLarge &&
         times >= kFewest && extent(dims, side.contracting) >= kFewest &&
         dims[rank - 1] < elementCount(dims);
}

bool alternate(const Rewriter& rw, const DotSide& lhs, const DotSide& rhs) {
  const Dims &left = rw.shape(lhs.value).dims, &right = rw.shape(rhs.value).dims;
  const int64_t rows = extent(left, lhs.free(static_cast<int64_t>(left.size())));
  const int64_t columns = extent(right, rhs.free(static_cast<int64_t>(right.size())));
  return alternates(rw, lhs, columns) && alternates(rw, rhs, rows);
}

// The batch first, then the other dimensions in their order.
DotSide batchFirst(Rewriter& rw, const DotSide& side) {
  const auto rank = static_cast<int64_t>(rw.shape(side.value).dims.size());
  Ints permutation = side.batch;
  for (int64_t d = 0; d < rank; ++d)
    if (!contains(side.batch, d)) permutation.push_back(d);
  return turned(rw, side, permutation);
}

// The operand of a transpose in its place, where the free dimensions keep their order.
bool takeUpTranspose(const Rewriter& rw, DotSide& side) {
  const Op* transpose = rw.def(side.value, OpKind::transpose_);
  if (!transpose) return false;
  const Ints& permutation = transpose->ints(AttrKey::permutation);
  if (!rises(mapped(side.free(rw.shape(side.value).rank()), permutation))) return false;
  side = {transpose->operand(0), mapped(side.batch, permutation),
          mapped(side.contracting, permutation)};
  return true;
}

// A product for each element of which there is a product of its own, the other way round: its rows
// are then those of a batch, and lie together.
bool takeUpSwapped(Rewriter& rw, DotSide& side) {
  const Op* dot = rw.def(side.value, OpKind::dot_general_);
  if (!dot || rw.otherUses(side.value) > 0 || side.batch.empty()) return false;
  const DotSide lhs = lhsOf(*dot), rhs = rhsOf(*dot);
  const Dims dims = rw.shape(side.value).dims;
  const auto rank = static_cast<int64_t>(dims.size());
  const auto rows = static_cast<int64_t>(lhs.free(rw.shape(lhs.value).rank()).size());
  if (!lhs.batch.empty() || rows == 0 || std::ranges::min(side.batch) < rows) return false;
  Ints swapped = range(rank), to(dims.size());
  std::ranges::rotate(swapped, swapped.begin() + rows);
  for (int64_t d = 0; d < rank; ++d) to[swapped[d]] = d;
  if (!rises(mapped(side.free(rank), to))) return false;
  const Ints result = mapped(swapped, Ints(dims.begin(), dims.end()));
  side = {emitDot(rw, *dot, rhs, lhs, Dims(result.begin(), result.end())), mapped(side.batch, to),
          mapped(side.contracting, to)};
  return true;
}

// Drops dimensions of 1; those contracted or in the batch are 1 on both sides.
DotSide withoutUnits(Rewriter& rw, const DotSide& side) {
  const Dims& dims = rw.shape(side.value).dims;
  Ints position(dims.size(), -1);
  int64_t next = 0;
  for (size_t d = 0; d < dims.size(); ++d)
    if (dims[d] != 1) position[d] = next++;
  auto rest = [&](const Ints& list) {
    Ints kept;
    for (int64_t d : list)
      if (position[d] >= 0) kept.push_back(position[d]);
    return kept;
  };
  return {rw.reshape(side.value, squeezed(dims)), rest(side.batch), rest(side.contracting)};
}

// rhs the same for the whole batch: the batch is then only more rows of lhs.
bool spreadOverBatch(const Rewriter& rw, const DotSide& lhs, DotSide& rhs) {
  const Op* broadcast = rw.def(rhs.value, OpKind::broadcast_in_dim_);
  if (!broadcast || rhs.batch.empty() || !isIdentity(lhs.batch)) return false;
  const Ints& where = broadcast->ints(AttrKey::broadcast_dimensions);
  for (int64_t d : rhs.batch)
    if (contains(where, d)) return false;
  auto at = [&](int64_t d) { return std::ranges::find(where, d) - where.begin(); };
  Ints contracting;
  int64_t free_dims = rw.shape(rhs.value).rank() - static_cast<int64_t>(rhs.batch.size());
  if (free_dims != static_cast<int64_t>(where.size())) return false;
  for (int64_t d : rhs.contracting) contracting.push_back(at(d));
  rhs = {broadcast->operand(0), {}, contracting};
  return true;
}

}  // namespace

Value layoutOfDot(Rewriter& rw, const Op& dot) {
  DotSide lhs = lhsOf(dot), rhs = rhsOf(dot);
  const Dims& result = rw.shape(dot.result()).dims;
  if (hasUnitDims(rw.shape(lhs.value).dims) || hasUnitDims(rw.shape(rhs.value).dims)) {
    lhs = withoutUnits(rw, lhs);
    rhs = withoutUnits(rw, rhs);
    return rw.reshape(emitDot(rw, dot, lhs, rhs, squeezed(result)), result);
  }
  DotSide left = lhs, right = rhs;
  bool changed = takeUpTranspose(rw, left);
  changed |= takeUpTranspose(rw, right);
  if (alternate(rw, left, right)) {
    if (left.value != lhs.value && right.value != rhs.value) return {};  // turned already
    return emitDot(rw, dot, batchFirst(rw, left), batchFirst(rw, right), result);
  }
  lhs = left;
  rhs = right;
  changed |= takeUpSwapped(rw, lhs);
  changed |= takeUpSwapped(rw, rhs);
  if (spreadOverBatch(rw, lhs, rhs)) {
    lhs.batch.clear();
    changed = true;
  }
  return changed ? emitDot(rw, dot, lhs, rhs, result) : Value{};
}

namespace {

// A product whose blocks of free dimensions are swapped is the swapped product.
Value transposedDot(Rewriter& rw, const Op& transpose, const Op& dot) {
  DotSide lhs = lhsOf(dot), rhs = rhsOf(dot);
  int64_t batch = static_cast<int64_t>(lhs.batch.size());
  int64_t lhs_free = static_cast<int64_t>(lhs.free(rw.shape(lhs.value).rank()).size());
  int64_t rank = rw.shape(dot.result()).rank();
  Ints swapped = range(batch);
  for (int64_t d = batch + lhs_free; d < rank; ++d) swapped.push_back(d);
  for (int64_t d = batch; d < batch + lhs_free; ++d) swapped.push_back(d);
  if (transpose.ints(AttrKey::permutation) != swapped) return {};
  return emitDot(rw, dot, rhs, lhs, rw.shape(transpose.result()).dims);
}

}  // namespace

Value transposedProduct(Rewriter& rw, const Op& transpose) {
  Value v = transpose.operand(0);
  if (const Op* dot = rw.def(v, OpKind::dot_general_))
    return rw.otherUses(v) == 0 ? transposedDot(rw, transpose, *dot) : Value{};
  return transposedConvolution(rw, transpose);
}

}  // namespace tercel::passes
