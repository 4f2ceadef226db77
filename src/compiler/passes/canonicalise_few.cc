// Places among few lines, known only at run time: what is picked from them is a choice between all,
// what is put there is a choice for each, where the lines are values of their own anyhow. So the
// exchanges of rows that jax.lax.linalg.lu's pivots stand for are selects.
#include <algorithm>

#include "compiler/passes/dimensions.h"
#include "compiler/passes/place_keys.h"
#include "compiler/passes/rules.h"

namespace tercel::passes {
using namespace ir;
namespace {

constexpr int64_t kFewLines = 6;

// Whether the lines of a dimension are made one by one, or are their numbers.
bool isApart(const Rewriter& rw, Value v, int64_t d) {
  const Op* op = rw.def(v);
  if (!op || rw.shape(v).dims[d] > kFewLines) return false;
  switch (op->kind) {
    case OpKind::concatenate_:
      return op->integer(AttrKey::dimension) == d &&
             static_cast<int64_t>(op->operands.size()) == rw.shape(v).dims[d];
    case OpKind::iota_:
      return op->integer(AttrKey::iota_dimension) == d;
    case OpKind::broadcast_in_dim_: {
      const Ints& to = op->ints(AttrKey::broadcast_dimensions);
      auto at = std::ranges::find(to, d);
      if (at == to.end() || rw.shape(op->operand(0)).dims[at - to.begin()] == 1) return false;
      return isApart(rw, op->operand(0), at - to.begin());
    }
    default:
      return false;
  }
}

// Whether that is so for any dimension of what v is computed from, element by element.
bool comesFromApart(const Rewriter& rw, Value v, int depth = 6) {
  for (int64_t d = 0; d < rw.shape(v).rank(); ++d)
    if (rw.shape(v).dims[d] > 1 && rw.def(v, OpKind::concatenate_) && isApart(rw, v, d))
      return true;
  const Op* op = rw.def(v);
  if (!op || depth == 0) return false;
  if (!isElementwise(op->kind) && op->kind != OpKind::reshape_) return false;
  return std::ranges::any_of(op->operands,
                             [&](Value from) { return comesFromApart(rw, from, depth - 1); });
}

// Line k of dimension d, which the result keeps with size 1.
Value lineOf(Rewriter& rw, Value v, int64_t d, int64_t k) {
  Shape line = rw.shape(v);
  if (const Op* iota = rw.def(v, OpKind::iota_);
      iota && iota->integer(AttrKey::iota_dimension) == d) {
    line.dims[d] = 1;
    return rw.splat(line, static_cast<double>(k));
  }
  if (const Op* spread = rw.def(v, OpKind::broadcast_in_dim_)) {
    const Ints to = spread->ints(AttrKey::broadcast_dimensions);
    auto at = std::ranges::find(to, d);
    if (at != to.end() && rw.shape(spread->operand(0)).dims[at - to.begin()] > 1) {
      line.dims[d] = 1;
      return rw.broadcast(lineOf(rw, spread->operand(0), at - to.begin(), k), line.dims, to);
    }
  }
  return rw.sliceAlong(v, static_cast<size_t>(d), k, k + 1);
}

// The line at `places`, which are clamped; `spread` gives a line the shape of `places`.
template <class Spread>
Value chosen(Rewriter& rw, Value v, int64_t d, Value places, Spread&& spread) {
  const int64_t n = rw.shape(v).dims[d];
  Value found = spread(lineOf(rw, v, d, n - 1));
  for (int64_t k = n - 1; k-- > 0;) {
    Value here = rw.compare(places, rw.like(places, static_cast<double>(k)), "LE");
    found = rw.select(here, spread(lineOf(rw, v, d, k)), found);
  }
  return found;
}

Value pickedSlice(Rewriter& rw, const Op& op) {
  const Value x = op.operand(0);
  const Dims from = rw.shape(x).dims, to = rw.shape(op.result()).dims;
  int64_t along = -1;
  for (int64_t d = 0; d < rw.shape(x).rank(); ++d) {
    if (from[d] == to[d]) continue;
    if (along >= 0 || to[d] != 1) return {};
    along = d;
  }
  if (along < 0 || !isApart(rw, x, along)) return {};
  Value places = rw.broadcast(op.operand(static_cast<size_t>(along) + 1), to, {});
  return chosen(rw, x, along, places, [](Value line) { return line; });
}

// How a gather's result, or a scatter's updates, lies beside its operand and indices.
struct Beside {
  Ints operand;  // for each dimension of the operand the one along it; -1: none
  Ints indices;  // for each of the indices', without that of their vectors
};

Beside beside(const Rewriter& rw, const Op& op, int64_t rank) {
  const PlaceKeys& keys = placeKeys(op);
  const Ints &windows = op.ints(keys.windows), &dropped = op.ints(keys.dropped);
  const Ints &batch = op.ints(keys.batching), &batch_of_indices = op.ints(keys.places_batching);
  const int64_t vector = op.integer(AttrKey::index_vector_dim);
  Beside result;
  for (int64_t d = 0; d < rank; ++d)
    if (!contains(windows, d)) result.indices.push_back(d);
  size_t window = 0;
  for (int64_t d = 0; d < rw.shape(op.operand(0)).rank(); ++d) {
    const auto at = std::ranges::find(batch, d);
    if (at != batch.end()) {
      const int64_t of_indices = batch_of_indices[static_cast<size_t>(at - batch.begin())];
      result.operand.push_back(
          result.indices[static_cast<size_t>(of_indices - (of_indices > vector))]);
    } else {
      result.operand.push_back(contains(dropped, d) ? -1 : windows[window++]);
    }
  }
  return result;
}

// The places without the dimension of their vectors, which have one number.
Value placesOf(Rewriter& rw, const Op& op) {
  Dims dims = rw.shape(op.operand(1)).dims;
  const int64_t vector = op.integer(AttrKey::index_vector_dim);
  if (vector < static_cast<int64_t>(dims.size())) dims.erase(static_cast<size_t>(vector));
  return rw.reshape(op.operand(1), dims);
}

// Whether the windows, of these sizes, are all of the operand but for one line of a dimension.
bool takesLines(const Rewriter& rw, const Op& op, int64_t along, const Ints& batch,
                const Ints& sizes) {
  for (int64_t d = 0; d < rw.shape(op.operand(0)).rank(); ++d) {
    if (contains(batch, d)) continue;
    if (sizes[static_cast<size_t>(d)] != (d == along ? 1 : rw.shape(op.operand(0)).dims[d]))
      return false;
  }
  return true;
}

Value pickedLines(Rewriter& rw, const Op& op) {
  const Value x = op.operand(0);
  const Ints& map = op.ints(AttrKey::start_index_map);
  if (map.size() != 1 || rw.shape(x).dims[map[0]] > kFewLines) return {};
  const int64_t along = map[0];
  if (!takesLines(rw, op, along, op.ints(AttrKey::operand_batching_dims),
                  op.ints(AttrKey::slice_sizes)))
    return {};
  if (!isApart(rw, x, along) && !comesFromApart(rw, op.operand(1))) return {};
  const Dims to = rw.shape(op.result()).dims;
  const Beside where = beside(rw, op, static_cast<int64_t>(to.size()));
  Dims kept;
  Ints spread;
  for (size_t d = 0; d < where.operand.size(); ++d) {
    if (where.operand[d] < 0) continue;
    kept.push_back(static_cast<int64_t>(d) == along ? 1 : rw.shape(x).dims[d]);
    spread.push_back(where.operand[d]);
  }
  Value places = rw.broadcast(placesOf(rw, op), to, where.indices);
  return chosen(rw, x, along, places,
                [&](Value line) { return rw.broadcast(rw.reshape(line, kept), to, spread); });
}

// A scatter that replaces one line, of each batch.
Value placedLine(Rewriter& rw, const Op& op) {
  const Ints& map = op.ints(AttrKey::scatter_dims_to_operand_dims);
  const Region& body = rw.module().region(op.regions[0]);
  if (op.operands.size() != 3 || map.size() != 1 || body.results[0] != body.args[1]) return {};
  const Value x = op.operand(0), updates = op.operand(2);
  const int64_t along = map[0];
  const Ints& batch = op.ints(AttrKey::input_batching_dims);
  if (!isApart(rw, x, along)) return {};
  const Dims from = rw.shape(updates).dims;
  const Beside where = beside(rw, op, static_cast<int64_t>(from.size()));
  if (where.indices.size() != batch.size()) return {};

  Dims line = rw.shape(x).dims;
  Ints sizes, of_updates(from.size()), of_places(where.indices.size());
  for (size_t d = 0; d < where.operand.size(); ++d) {
    const int64_t there = where.operand[d];
    sizes.push_back(there < 0 ? 1 : from[static_cast<size_t>(there)]);
    if (there < 0) continue;
    of_updates[static_cast<size_t>(there)] = static_cast<int64_t>(d);
    const auto at = std::ranges::find(where.indices, there);
    if (at != where.indices.end())
      of_places[static_cast<size_t>(at - where.indices.begin())] = static_cast<int64_t>(d);
  }
  if (!takesLines(rw, op, along, batch, sizes)) return {};
  line[along] = 1;
  Value places = rw.broadcast(placesOf(rw, op), line, of_places);
  Value update = rw.broadcast(updates, line, of_updates);
  Values lines;
  for (int64_t k = 0; k < rw.shape(x).dims[along]; ++k) {
    Value here = rw.compare(places, rw.like(places, static_cast<double>(k)), "EQ");
    lines.push_back(rw.select(here, update, lineOf(rw, x, along, k)));
  }
  return rw.emit(OpKind::concatenate_, lines, Shape(rw.shape(x)), {{AttrKey::dimension, along}});
}

}  // namespace

Value canonicalFew(Rewriter& rw, const Op& op) {
  switch (op.kind) {
    case OpKind::dynamic_slice_:
      return pickedSlice(rw, op);
    case OpKind::gather_:
      return pickedLines(rw, op);
    case OpKind::scatter_:
      return placedLine(rw, op);
    default:
      return {};
  }
}

}  // namespace tercel::passes
