// Lines of an array at places that follow from constants and iotas, as jax.image.resize, jnp.take of
// a range and repetitions make them: slices and repetitions, which other ops and kernels see through.
// What their gradients add to such lines is added up and padded.
#include <algorithm>
#include <unordered_map>

#include "compiler/passes/constants.h"
#include "compiler/passes/effects.h"
#include "compiler/passes/fold.h"
#include "compiler/passes/monoid.h"
#include "compiler/passes/place_keys.h"

namespace tercel::passes {
using namespace ir;
namespace {

using Places = std::vector<int64_t>;

constexpr int64_t kMostPlaces = 4096;
constexpr int kMostPlaceOps = 40;

// What follows from constants and iotas, element by element.
class KnownValues {
 public:
  explicit KnownValues(const Rewriter& rw) : rw_(rw) {}

  const Literal* of(Value v) {
    if (const Literal* constant = constantOf(rw_, v)) return constant;
    if (auto at = known_.find(v.index); at != known_.end()) return &at->second;
    const Op* op = rw_.def(v);
    if (!op || !isPlain(*op) || rw_.shape(v).elements() > kMostPlaces || --left_ < 0) return nullptr;
    std::vector<Literal> operands;
    for (Value from : op->operands) {
      const Literal* literal = of(from);
      if (!literal) return nullptr;
      operands.push_back(*literal);
    }
    std::optional<Literal> result = evaluated(rw_.module(), *op, operands);
    return result ? &known_.emplace(v.index, std::move(*result)).first->second : nullptr;
  }

 private:
  static bool isPlain(const Op& op) {
    switch (op.kind) {
      case OpKind::iota_: case OpKind::reshape_: case OpKind::broadcast_in_dim_:
      case OpKind::slice_: case OpKind::concatenate_: case OpKind::reverse_:
        return true;
      default: return isElementwise(op.kind) && op.regions.empty() && isPure(op);
    }
  }

  const Rewriter& rw_;
  int left_ = kMostPlaceOps;
  std::unordered_map<uint32_t, Literal> known_;  // by value index
};

// The dimension of which a gather takes whole lines, or a scatter adds to them, one for each of a
// list of indices; -1: none.
int64_t linesDimension(const Rewriter& rw, const Op& op) {
  const bool gathers = op.kind == OpKind::gather_;
  const PlaceKeys& keys = placeKeys(op);
  const Shape &x = rw.shape(op.operand(0)), &indices = rw.shape(op.operand(1));
  const Dims& lines = rw.shape(gathers ? op.result() : op.operand(2)).dims;
  const Ints &map = op.ints(keys.map), &dropped = op.ints(keys.dropped);
  if (map.size() != 1 || dropped != map || op.integer(AttrKey::index_vector_dim) != 1) return -1;
  if (indices.rank() != 1 && (indices.rank() != 2 || indices.dims[1] != 1)) return -1;
  const int64_t along = map[0];
  Ints others;
  for (int64_t d = 0; d < x.rank(); ++d) {
    if (d == along) continue;
    others.push_back(d);
    if (d >= std::ssize(lines) || lines[d] != x.dims[d]) return -1;
  }
  return op.ints(keys.windows) == others ? along : -1;
}

// How often each is repeated, where all are equally often.
int64_t repetitions(const Places& places) {
  const auto next = std::ranges::find_if(places, [&](int64_t p) { return p != places[0]; });
  const int64_t times = next - places.begin(), count = std::ssize(places);
  if (count % times != 0) return 0;
  for (int64_t i = 0; i < count; ++i)
    if (places[static_cast<size_t>(i)] != places[static_cast<size_t>(i / times * times)]) return 0;
  return times;
}

Places everyOf(const Places& places, int64_t times) {
  Places each;
  for (size_t i = 0; i < places.size(); i += static_cast<size_t>(times)) each.push_back(places[i]);
  return each;
}

// How much further each is than the one `apart` places before; 0: not always as much, or no further.
int64_t strideOf(const Places& places, size_t apart) {
  if (places.size() <= apart) return static_cast<int64_t>(apart);
  const int64_t stride = places[apart] - places[0];
  for (size_t i = apart; i < places.size(); ++i)
    if (places[i] - places[i - apart] != stride) return 0;
  return stride;
}

Value sliced(Rewriter& rw, Value x, int64_t along, int64_t first, int64_t end, int64_t stride) {
  const Dims dims = rw.shape(x).dims;
  Ints start(dims.size(), 0), limit(dims.begin(), dims.end()), strides(dims.size(), 1);
  start[static_cast<size_t>(along)] = first;
  limit[static_cast<size_t>(along)] = end;
  strides[static_cast<size_t>(along)] = stride;
  return rw.slice(x, start, limit, strides);
}

// Each line `times` times.
Value repeated(Rewriter& rw, Value x, int64_t along, int64_t times) {
  Dims dims = rw.shape(x).dims, apart = dims;
  apart.insert(static_cast<size_t>(along) + 1, times);
  Ints kept;
  for (int64_t d = 0; d < std::ssize(apart); ++d)
    if (d != along + 1) kept.push_back(d);
  dims[along] *= times;
  return rw.reshape(rw.broadcast(x, apart, kept), dims);
}

Value evenlyTaken(Rewriter& rw, Value x, int64_t along, const Places& places) {
  const int64_t times = repetitions(places);
  if (times == 0) return {};
  const Places each = everyOf(places, times);
  const int64_t stride = strideOf(each, 1);
  if (stride == 0) return {};
  const auto [low, high] = std::minmax(each.front(), each.back());
  Value lines = sliced(rw, x, along, low, high + 1, std::abs(stride));
  if (stride < 0) lines = rw.reverse(lines, {along});
  return times == 1 ? lines : repeated(rw, lines, along, times);
}

// The lines at `places` of dimension `along`.
Value taken(Rewriter& rw, Value x, int64_t along, const std::vector<int32_t>& places) {
  Shape to = rw.shape(x);
  Ints window(to.dims.begin(), to.dims.end()), others;
  for (int64_t d = 0; d < to.rank(); ++d)
    if (d != along) others.push_back(d);
  window[static_cast<size_t>(along)] = 1;
  to.dims[along] = std::ssize(places);
  const auto bytes = std::as_bytes(std::span(places));
  const Value indices = rw.constant(Literal(Shape{DType::s32, {std::ssize(places)}},
                                            std::vector(bytes.begin(), bytes.end())));
  return rw.emit(OpKind::gather_, {x, indices}, to,
                 {{AttrKey::offset_dims, others},
                  {AttrKey::collapsed_slice_dims, Ints{along}},
                  {AttrKey::operand_batching_dims, Ints{}},
                  {AttrKey::start_indices_batching_dims, Ints{}},
                  {AttrKey::start_index_map, Ints{along}},
                  {AttrKey::index_vector_dim, int64_t{1}},
                  {AttrKey::slice_sizes, window}});
}

// The sums of each `times` lines, by the body of a scatter that goes.
Value addedUp(Rewriter& rw, Value x, int64_t along, int64_t times, RegionId body) {
  Shape sums = rw.shape(x);
  sums.dims[along] /= times;
  Dims apart = sums.dims;
  apart.insert(static_cast<size_t>(along) + 1, times);
  const Value zero = rw.splat({sums.dtype, {}}, 0);
  const Type type{sums};
  Module& module = rw.module();
  const OpId id = module.addOp(OpKind::reduce_, {rw.reshape(x, apart), zero}, {&type, 1});
  module.op(id).attrs = {{AttrKey::dimensions, Ints{along + 1}}};
  module.op(id).regions = {body};
  const Value sum = module.op(id).result();
  return rw.place(id) ? sum : rw.now(sum);
}

// x with lines added at places that are evenly apart; those between get -0, which changes nothing.
Value evenlyAdded(Rewriter& rw, const Op& op, int64_t along, const Places& places) {
  const Value x = op.operand(0);
  const int64_t times = repetitions(places), size = rw.shape(x).dims[along];
  const DType dtype = rw.shape(x).dtype;
  if (times == 0) return {};
  Places each = everyOf(places, times);
  const int64_t stride = strideOf(each, 1);
  if (stride == 0) return {};
  // Few lines of a large array are added to where they are.
  constexpr int64_t kMostUntouched = 4;
  if (!splatOf(rw, x) && kMostUntouched * std::ssize(each) < size) return {};
  Value lines = op.operand(2);
  if (times > 1) lines = addedUp(rw, lines, along, times, op.regions[0]);
  if (stride < 0) lines = rw.reverse(lines, {along});
  const auto [low, high] = std::minmax(each.front(), each.back());
  const auto rank = static_cast<size_t>(rw.shape(x).rank()), at = static_cast<size_t>(along);
  Ints before(rank, 0), after(rank, 0), between(rank, 0);
  before[at] = low;
  after[at] = size - 1 - high;
  between[at] = std::abs(stride) - 1;
  const Value nothing = rw.splat({dtype, {}}, isFloat(dtype) ? -0.0 : 0.0);
  const Value all = rw.emit(OpKind::pad_, {lines, nothing}, Shape(rw.shape(x)),
                            {{AttrKey::edge_padding_low, before},
                             {AttrKey::edge_padding_high, after},
                             {AttrKey::interior_padding, between}});
  return rw.binary(OpKind::add_, x, all);
}

// A few places in each block of lines, the same ones in all blocks.
Value takenInBlocks(Rewriter& rw, Value x, int64_t along, const Places& places) {
  constexpr size_t kLongestBlock = 16;
  for (size_t few = 2; few <= kLongestBlock && 2 * few <= places.size(); ++few) {
    if (places.size() % few != 0) continue;
    const int64_t block = strideOf(places, few);
    const auto blocks = static_cast<int64_t>(places.size() / few);
    std::vector<int32_t> in_block(places.begin(), places.begin() + static_cast<int64_t>(few));
    const auto [low, high] = std::ranges::minmax(in_block);
    if (block <= high - low || low + block * blocks > rw.shape(x).dims[along]) continue;
    for (int32_t& place : in_block) place -= low;
    Value lines = sliced(rw, x, along, low, low + block * blocks, 1);
    Dims apart = rw.shape(lines).dims, to = apart;
    apart[along] = blocks;
    apart.insert(static_cast<size_t>(along) + 1, block);
    to[along] = std::ssize(places);
    return rw.reshape(taken(rw, rw.reshape(lines, apart), along + 1, in_block), to);
  }
  return {};
}

// Places that follow one another: of the list's elements from `from` on.
struct Run {
  int64_t from = 0, place = 0, count = 0;
  int64_t end() const { return place + count; }
};

// Nothing where there are many or they are short.
std::vector<Run> runsOf(const Places& places) {
  constexpr size_t kMostRuns = 8, kLeastLength = 16;  // on average
  std::vector<Run> runs;
  for (int64_t i = 0; i < std::ssize(places); ++i) {
    const int64_t place = places[static_cast<size_t>(i)];
    if (!runs.empty() && place == runs.back().end())
      ++runs.back().count;
    else if (runs.size() < kMostRuns)
      runs.push_back({i, place, 1});
    else
      return {};
  }
  return places.size() < kLeastLength * runs.size() ? std::vector<Run>() : runs;
}

Value joined(Rewriter& rw, const Values& parts, int64_t along, int64_t count) {
  Shape to = rw.shape(parts[0]);
  to.dims[along] = count;
  return rw.emit(OpKind::concatenate_, parts, to, {{AttrKey::dimension, along}});
}

Value takenInRuns(Rewriter& rw, Value x, int64_t along, const Places& places) {
  Values parts;
  for (const Run& run : runsOf(places))
    parts.push_back(rw.sliceAlong(x, along, run.place, run.end()));
  return parts.empty() ? Value{} : joined(rw, parts, along, std::ssize(places));
}

// x with other lines at places most of which it has.
Value putInRuns(Rewriter& rw, const Op& op, int64_t along, const Places& places) {
  const Value x = op.operand(0), lines = op.operand(2);
  const int64_t size = rw.shape(x).dims[along];
  if (2 * std::ssize(places) < size) return {};
  std::vector<Run> runs = runsOf(places);
  if (runs.empty()) return {};
  std::ranges::sort(runs, {}, &Run::place);
  Values parts;
  int64_t end = 0;
  for (const Run& run : runs) {
    if (run.place < end) return {};
    if (run.place > end) parts.push_back(rw.sliceAlong(x, along, end, run.place));
    parts.push_back(rw.sliceAlong(lines, along, run.from, run.from + run.count));
    end = run.end();
  }
  if (end < size) parts.push_back(rw.sliceAlong(x, along, end, size));
  return joined(rw, parts, along, size);
}

bool isPlainScatter(const Op& op) {
  return op.kind == OpKind::scatter_ && op.operands.size() == 3 &&
         op.ints(AttrKey::input_batching_dims).empty();
}

bool addsLines(const Rewriter& rw, const Op& op) {
  return reducerKind(rw.module(), op.regions[0]) == OpKind::add_ &&
         !isComplex(rw.shape(op.result()).dtype);
}

// In the place of what is there.
bool putsLines(const Rewriter& rw, const Op& op) {
  const Region& body = rw.module().region(op.regions[0]);
  return body.results[0] == body.args[1];
}

}  // namespace

Value foldedPlaces(Rewriter& rw, const Op& op) {
  const bool gathers = op.kind == OpKind::gather_;
  const bool scatters = isPlainScatter(op);
  const bool adds = scatters && addsLines(rw, op), puts = scatters && putsLines(rw, op);
  if (!gathers && !adds && !puts) return {};
  const int64_t along = linesDimension(rw, op);
  if (along < 0 || rw.shape(op.operand(gathers ? 0 : 2)).elements() == 0) return {};
  KnownValues known(rw);
  const Literal* literal = known.of(op.operand(1));
  if (!literal) return {};
  const Value x = op.operand(0);
  const auto last = static_cast<double>(rw.shape(x).dims[along] - 1);
  Places places;
  for (int64_t i = 0; i < literal->shape().elements(); ++i) {
    const double place = std::clamp(literal->number(i), 0.0, last);
    if (!gathers && place != literal->number(i)) return {};
    places.push_back(static_cast<int64_t>(place));
  }
  if (places.empty()) return {};
  if (adds) return evenlyAdded(rw, op, along, places);
  if (puts) return putInRuns(rw, op, along, places);
  Value lines = evenlyTaken(rw, x, along, places);
  if (!lines.valid()) lines = takenInBlocks(rw, x, along, places);
  return lines.valid() ? lines : takenInRuns(rw, x, along, places);
}

}  // namespace tercel::passes
