// Gathers and scatters at places that count along a dimension, as x[jnp.arange(n), i] has them: that
// dimension is one of batches.
#include <algorithm>

#include "compiler/passes/dimensions.h"
#include "compiler/passes/element_range.h"
#include "compiler/passes/place_keys.h"
#include "compiler/passes/rules.h"

namespace tercel::passes {
using namespace ir;
namespace {

// The dimension along which the elements are 0, 1, 2 and so on; -1: none.
int64_t countedAlong(const Rewriter& rw, Value v) {
  const Op* op = rw.def(v);
  if (!op) return -1;
  const Dims& to = rw.shape(v).dims;
  if (op->kind == OpKind::iota_) return op->integer(AttrKey::iota_dimension);
  if (op->kind != OpKind::reshape_ && op->kind != OpKind::broadcast_in_dim_ &&
      op->kind != OpKind::convert_)
    return -1;
  const Value x = op->operand(0);
  const Dims& from = rw.shape(x).dims;
  const int64_t inner = countedAlong(rw, x);
  if (inner < 0 || from[inner] == 1) return -1;
  if (op->kind == OpKind::convert_) {
    const DType type = rw.shape(v).dtype;
    return hasRange(type) && from[inner] - 1 <= rangeOfType(type).high ? inner : -1;
  }
  if (op->kind == OpKind::broadcast_in_dim_) {
    const int64_t outer = op->ints(AttrKey::broadcast_dimensions)[inner];
    return to[outer] == from[inner] ? outer : -1;
  }
  if (!differInUnitsOnly(from, to)) return -1;
  int64_t wide = std::ranges::count_if(from.begin(), from.begin() + inner, [](int64_t n) {
    return n != 1;
  });
  for (size_t d = 0; d < to.size(); ++d)
    if (to[d] != 1 && wide-- == 0) return static_cast<int64_t>(d);
  return -1;
}

// A part of the places that counts along a dimension of them: how many numbers of each stand before
// it, and that dimension.
struct Counted {
  size_t part;
  int64_t number, along;
};
std::optional<Counted> countedPart(const Rewriter& rw, const Op& op, const Op& places,
                                   const PlaceKeys& keys) {
  const int64_t vector = op.integer(AttrKey::index_vector_dim);
  if (places.kind != OpKind::concatenate_ || places.integer(AttrKey::dimension) != vector) return {};
  const Ints& map = op.ints(keys.map);
  const Dims& dims = rw.shape(op.operand(0)).dims;
  int64_t number = 0;
  for (size_t i = 0; i < places.operands.size(); ++i) {
    const Dims& part = rw.shape(places.operand(i)).dims;
    const int64_t along = part[vector] == 1 ? countedAlong(rw, places.operand(i)) : -1;
    if (along >= 0 && along != vector && part[along] == dims[map[number]] &&
        contains(op.ints(keys.dropped), map[number]) &&
        !contains(op.ints(keys.places_batching), along))
      return Counted{i, number, along};
    number += part[vector];
  }
  return {};
}

Ints without(const Ints& list, int64_t value) {
  Ints rest;
  std::ranges::copy_if(list, std::back_inserter(rest), [&](int64_t n) { return n != value; });
  return rest;
}

}  // namespace

void batchCountedPlaces(Rewriter& rw, OpId id) {
  Op& op = rw.module().op(id);
  const bool gathers = op.kind == OpKind::gather_;
  if (!gathers && op.kind != OpKind::scatter_) return;
  const PlaceKeys& keys = placeKeys(op);
  const size_t at = gathers ? 1 : op.operands.size() / 2;
  const Op* places = rw.def(op.operand(at));
  if (!places) return;
  const auto counted = countedPart(rw, op, *places, keys);
  if (!counted) return;

  Values parts = places->operands;
  parts.erase(counted->part);
  const int64_t vector = op.integer(AttrKey::index_vector_dim);
  Shape rest = rw.shape(op.operand(at));
  rest.dims[vector] -= 1;
  const Value left = parts.size() == 1 ? parts[0]
                                       : rw.emit(OpKind::concatenate_, parts, rest,
                                                 {{AttrKey::dimension, vector}});
  Ints map = op.ints(keys.map), batching = op.ints(keys.batching);
  Ints places_batching = op.ints(keys.places_batching);
  const int64_t dimension = map[counted->number];
  map.erase(map.begin() + counted->number);
  const auto before = std::ranges::lower_bound(batching, dimension) - batching.begin();
  batching.insert(batching.begin() + before, dimension);
  places_batching.insert(places_batching.begin() + before, counted->along);
  op.operands[at] = left;
  op.set(keys.map, map);
  op.set(keys.dropped, without(op.ints(keys.dropped), dimension));
  op.set(keys.batching, batching);
  op.set(keys.places_batching, places_batching);
  rw.setChanged();
}

}  // namespace tercel::passes
