// Ops that move elements: where an element comes from, and which of several places it is.
#include <algorithm>
#include <array>
#include <functional>

#include "compiler/ir/window.h"
#include "compiler/kernel/cluster.h"
#include "compiler/kernel/emitter.h"
#include "core/status.h"

namespace tercel::kernel {

using ir::AttrKey;

Guard Emitter::both(Guard x, Guard y) {
  auto conjunction = [&](V p, V q) {
    return !p.valid() ? q : !q.valid() ? p : b_.binary(Opcode::and_, p, q);
  };
  return {conjunction(x.lanes, y.lanes), conjunction(x.scalar, y.scalar)};
}

V Emitter::conditionOf(const Guard& guard) {
  if (!guard.scalar.valid()) return guard.lanes;
  return guard.lanes.valid() ? b_.binary(Opcode::and_, guard.lanes, guard.scalar) : guard.scalar;
}

Guard Emitter::guardOf(V condition) {
  if (!condition.valid()) return {};
  return b_.type(condition).isVector() ? Guard{condition, {}} : Guard{{}, condition};
}

bool Emitter::never(const Guard& guard) const {
  uint64_t holds = 1;
  return guard.scalar.valid() && b_.isConstant(guard.scalar, &holds) && holds == 0;
}

V Emitter::inBounds(const Index& x, int64_t extent) {
  if (space_.lowest(x) >= 0 && space_.highest(x) < extent) return {};
  if (space_.highest(x) < 0 || space_.lowest(x) >= extent) return b_.constant({Scalar::i1, 1}, 0);
  if (bounds) bounds->push_back({x, extent});
  space_.noteBoundUse(x);
  int64_t factor;
  V value = emitIndex(space_.withoutQuotient(x, &factor));
  return b_.compare(Opcode::icmp, Predicate::ult, value,
                    b_.integer(b_.type(value), factor * extent));
}

V Emitter::emitIndex(const Index& x) {
  return space_.varies(x) ? space_.emitLanes(x, lanes_, space_.wordOf(x)) : space_.emitScalar(x);
}

Index Emitter::undilate(Index x, int64_t extent, int64_t gap, Guard& inside) {
  // What is beyond an end by less than the gap is in none of its own places either.
  const int64_t beyond = extent == 0 ? 0 : gap - 1;
  inside = both(inside, guardOf(inBounds(space_.add(x, Index(beyond)),
                                         ir::dilated(extent, gap) + 2 * beyond)));
  if (gap == 1) return x;
  Index rest = space_.remainder(x, gap);
  V value = emitIndex(rest);
  V none = b_.integer(b_.type(value), 0);
  inside = both(inside, guardOf(b_.compare(Opcode::icmp, Predicate::eq, value, none)));
  return space_.quotient(x, gap);
}

Elem Emitter::branch(V condition, const std::function<Elem()>& then,
                     const std::function<Elem()>& otherwise, bool keeps) {
  auto parts = [&](const std::function<Elem()>& side) {
    return flatten(std::array{scope([&] { return elemWiden(b_, side(), lanes_); })});
  };
  auto values = b_.ifElse(condition, [&] { return parts(then); },
                          [&] { return parts(otherwise); }, keeps);
  return {values[0], values.size() > 1 ? values[1] : V{}};
}

Elem Emitter::choose(const Guard& where, bool vector, const std::function<Elem()>& then,
                     const std::function<Elem()>& otherwise) {
  if (never(where)) return vector ? elemWiden(b_, otherwise(), lanes_) : otherwise();
  auto select = [&](V condition) {
    if (!condition.valid()) return then();
    Elem chosen = guarded(guardOf(condition), then);
    return elemSelect(b_, condition, chosen, otherwise());
  };
  if (!vector || !where.scalar.valid()) return select(conditionOf(where));
  return branch(where.scalar, [&] { return select(where.lanes); }, otherwise);
}

bool Emitter::anyVaries(const Indices& indices) const {
  return std::any_of(indices.begin(), indices.end(),
                     [&](const Index& i) { return space_.varies(i); });
}

Elem Emitter::padAt(const ir::Op& op, const Indices& indices) {
  const Dims& dims = m_.shape(op.operand(0)).dims;
  auto padding = [&] { return at(op.operand(1), {}); };
  if (elementCount(dims) == 0) return padding();
  const auto &low = op.ints(AttrKey::edge_padding_low), &gaps = op.ints(AttrKey::interior_padding);
  Guard inside;
  Indices mapped;
  // Those that are outside in any dimension first: nothing is asked of the others then.
  for (size_t d = 0; d < dims.size(); ++d) {
    Index x = space_.subtract(indices[d], Index(low[d]));
    bool outside = space_.highest(x) < 0 || space_.lowest(x) > (dims[d] - 1) * (gaps[d] + 1);
    if (outside) return anyVaries(indices) ? elemWiden(b_, padding(), lanes_) : padding();
  }
  for (size_t d = 0; d < dims.size(); ++d) {
    Index x = space_.subtract(indices[d], Index(low[d]));
    mapped.push_back(undilate(x, dims[d], gaps[d] + 1, inside));
  }
  return choose(inside, anyVaries(indices), [&] { return at(op.operand(0), mapped); }, padding);
}

Elem Emitter::concatenateAt(const ir::Op& op, const Indices& indices) {
  return concatenateFrom(op, indices, 0, 0);
}

// Of the operands from the i-th on, which starts at `start`.
Elem Emitter::concatenateFrom(const ir::Op& op, const Indices& indices, size_t i, int64_t start) {
  size_t d = static_cast<size_t>(op.integer(AttrKey::dimension));
  const Index& along = indices[d];
  int64_t size = m_.shape(op.operand(i)).dims[d];
  auto rest = [&] { return concatenateFrom(op, indices, i + 1, start + size); };
  bool more = i + 1 < op.operands.size() && space_.highest(along) >= start + size;
  if (more && (size == 0 || space_.lowest(along) >= start + size)) return rest();
  Indices mapped = indices;
  mapped[d] = space_.subtract(along, Index(start));
  auto here = [&] { return at(op.operand(i), mapped); };
  if (std::vector<int64_t> places = knownPlaces(mapped[d]); !places.empty()) {
    const int64_t left = m_.shape(op.result()).dims[d] - start;
    if (std::ranges::none_of(places, [=](int64_t at) { return at >= 0 && at < left; })) {
      mapped[d] = Index(0);  // no lane matters
      return at(*std::ranges::find_if(op.operands, [&](ir::Value v) {
        return m_.shape(v).dims[d] > 0;
      }), mapped);
    }
    return concatenateLanes(std::move(places), size, left, rest, [&](Index place) {
      mapped[d] = std::move(place);
      return here();
    });
  }
  Guard inside = guardOf(inBounds(mapped[d], size));
  bool vector = anyVaries(indices);
  if (more) return choose(inside, vector, here, rest);
  bool branched = vector && !inside.lanes.valid();  // to here, out of the operands before
  return branched ? here() : guarded(inside, here);
}

// Where each lane's place in an operand is known; what lies before it or is not `left` no longer
// matters.
Elem Emitter::concatenateLanes(std::vector<int64_t> places, int64_t size, int64_t left,
                               const std::function<Elem()>& rest,
                               const std::function<Elem(Index)>& here) {
  auto isHere = [=](int64_t place) { return place >= 0 && place < size; };
  if (std::ranges::none_of(places, isHere)) return rest();
  std::vector<bool> is_later;
  for (int64_t place : places) is_later.push_back(place >= size && place < left);
  std::ranges::replace_if(places, std::not_fn(isHere), kNoPlace);
  const Elem chosen = here(space_.known(std::move(places), size));
  const bool is_last = std::ranges::find(is_later, true) == is_later.end();
  return is_last ? chosen : blended(is_later, rest(), chosen);
}

// Of an index known in each lane: there. Else empty.
std::vector<int64_t> Emitter::knownPlaces(const Index& index) const {
  Index base;
  if (lanes_ == 1 || !space_.varies(index)) return {};
  std::vector<int64_t> places = space_.knownLanes(index, lanes_, &base);
  if (!base.isConstant()) return {};
  for (int64_t& place : places)
    if (place != kNoPlace) place += base.constant;
  return places;
}

Index Emitter::elemIndex(const Elem& elem, DType dtype, int64_t extent) {
  return space_.lanes(elemToIndex(b_, elem, dtype), extent);
}

// Where a constant says the index of each lane: short rows whose elements change places.
std::optional<Index> Emitter::knownIndex(ir::Value start, const Indices& indices, int64_t limit) {
  if (!isKnownStart(m_, start)) return {};
  const ir::Literal& literal = m_.def(start)->literal();
  std::vector<int64_t> places = knownPlaces(space_.linear(indices, literal.shape().dims));
  if (places.empty()) return {};
  for (int64_t& place : places)
    if (place != kNoPlace)
      place = static_cast<int64_t>(
          std::clamp(literal.number(place), 0.0, static_cast<double>(limit)));
  return space_.known(std::move(places), limit + 1);
}

Index Emitter::clampedIndex(ir::Value start, const Indices& indices, int64_t limit) {
  if (limit == 0) return Index(0);
  if (std::optional<Index> known = knownIndex(start, indices, limit)) return *known;
  const auto bound = starts_.find({start.index, limit});
  const bool is_bound = indices.empty() && bound != starts_.end();
  return space_.lanes(is_bound ? bound->second : clamped(start, indices, limit), limit + 1);
}

V Emitter::clamped(ir::Value start, const Indices& indices, int64_t limit) {
  constexpr int64_t kFar = int64_t{1} << 30;
  DType dtype = m_.shape(start).dtype;
  const Elem elem = at(start, indices);
  const bool in_words = limit < kFar &&
                        (isSigned(dtype) ? byteSize(dtype) <= 4 : byteSize(dtype) <= 2);
  V value = in_words ? elemConvert(b_, elem, dtype, DType::s32).re : elemToIndex(b_, elem, dtype);
  Type type = b_.type(value);
  // An unsigned 64-bit start above the signed range is clamped from above.
  if (dtype == DType::u64)
    value = b_.binary(Opcode::umin, value, b_.integer(type, limit));
  value = b_.binary(Opcode::smax, value, b_.integer(type, 0));
  value = b_.binary(Opcode::smin, value, b_.integer(type, limit));
  return type.isVector() ? value : b_.cast(Opcode::zext, value, Scalar::i64);
}

Elem Emitter::dynamicSliceAt(const ir::Op& op, const Indices& indices) {
  const Dims& dims = m_.shape(op.operand(0)).dims;
  const auto& sizes = op.ints(AttrKey::slice_sizes);
  Indices mapped;
  for (size_t d = 0; d < dims.size(); ++d)
    mapped.push_back(
        space_.add(clampedIndex(op.operand(1 + d), {}, dims[d] - sizes[d]), indices[d]));
  return at(op.operand(0), mapped);
}

Elem Emitter::dynamicUpdateSliceAt(const ir::Op& op, const Indices& indices) {
  const Dims& dims = m_.shape(op.operand(0)).dims;
  const Dims& sizes = m_.shape(op.operand(1)).dims;
  if (elementCount(sizes) == 0) return at(op.operand(0), indices);
  Guard inside;
  Indices mapped;
  for (size_t d = 0; d < dims.size(); ++d) {
    Index start = clampedIndex(op.operand(2 + d), {}, dims[d] - sizes[d]);
    mapped.push_back(space_.subtract(indices[d], start));
    if (sizes[d] != dims[d]) inside = both(inside, guardOf(inBounds(mapped[d], sizes[d])));
  }
  return choose(inside, anyVaries(indices), [&] { return at(op.operand(1), mapped); },
                [&] { return at(op.operand(0), indices); });
}

Elem Emitter::gatherAt(const ir::Op& op, const Indices& indices) {
  const Shape& operand = m_.shape(op.operand(0));
  const Shape& starts = m_.shape(op.operand(1));
  auto contains = [](const ir::Ints& list, size_t d) {
    return std::find(list.begin(), list.end(), static_cast<int64_t>(d)) != list.end();
  };
  const auto& offset_dims = op.ints(AttrKey::offset_dims);
  const auto& collapsed = op.ints(AttrKey::collapsed_slice_dims);
  const auto& batching = op.ints(AttrKey::operand_batching_dims);
  const auto& starts_batching = op.ints(AttrKey::start_indices_batching_dims);
  const auto& map = op.ints(AttrKey::start_index_map);
  const auto& sizes = op.ints(AttrKey::slice_sizes);
  size_t vector_dim = static_cast<size_t>(op.integer(AttrKey::index_vector_dim));
  Indices batch, offset;
  for (size_t d = 0; d < indices.size(); ++d)
    (contains(offset_dims, d) ? offset : batch).push_back(indices[d]);
  Indices start(operand.dims.size());
  for (size_t k = 0; k < map.size(); ++k) {
    Indices where = batch;
    if (vector_dim < starts.dims.size())
      where.insert(where.begin() + static_cast<int64_t>(vector_dim), Index(static_cast<int64_t>(k)));
    size_t d = static_cast<size_t>(map[k]);
    start[d] = clampedIndex(op.operand(1), where, operand.dims[d] - sizes[d]);
  }
  for (size_t k = 0; k < batching.size(); ++k) {
    size_t in_starts = static_cast<size_t>(starts_batching[k]);
    size_t in_batch = in_starts - (in_starts > vector_dim ? 1 : 0);
    start[static_cast<size_t>(batching[k])] = batch[in_batch];
  }
  size_t next = 0;
  for (size_t d = 0; d < operand.dims.size(); ++d)
    if (!contains(collapsed, d) && !contains(batching, d))
      start[d] = space_.add(start[d], offset[next++]);
  return at(op.operand(0), start);
}

}  // namespace tercel::kernel
