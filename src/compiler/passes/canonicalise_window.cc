// Gathers and scatters of one window: slices, and updates of a slice. Scatters of windows of several
// dimensions: lines. Reductions of windows of one element: slices.
#include <algorithm>
#include <optional>

#include "compiler/passes/constants.h"
#include "compiler/passes/dimensions.h"
#include "compiler/passes/monoid.h"
#include "compiler/passes/rules.h"

namespace tercel::passes {
using namespace ir;
namespace {

// A gather of one window is a dynamic_slice: both clamp the start.
Value gatherRule(Rewriter& rw, const Op& op) {
  Value x = op.operand(0), indices = op.operand(1);
  const Ints& index_map = op.ints(AttrKey::start_index_map);
  int64_t depth = static_cast<int64_t>(index_map.size());
  if (rw.shape(indices).elements() != depth || depth == 0) return {};
  if (contains(op.ints(AttrKey::slice_sizes), 0)) return {};
  Value flat = rw.reshape(indices, {depth});
  Values starts;
  DType type = rw.shape(indices).dtype;
  for (int64_t d = 0; d < rw.shape(x).rank(); ++d) {
    auto at = std::ranges::find(index_map, d);
    if (at == index_map.end()) {
      starts.push_back(rw.splat({type, {}}, 0));
      continue;
    }
    int64_t i = at - index_map.begin();
    starts.push_back(rw.reshape(rw.slice(flat, {i}, {i + 1}, {1}), {}));
  }
  Value window = rw.dynamicSlice(x, starts, Dims(op.ints(AttrKey::slice_sizes)));
  return rw.reshape(window, rw.shape(op.result()).dims);
}

// The window of a scatter in the operand's dimensions.
Dims windowOf(const Rewriter& rw, const Op& op) {
  const Ints& in_updates = op.ints(AttrKey::update_window_dims);
  Dims window;
  size_t next = 0;
  for (int64_t d = 0; d < rw.shape(op.operand(0)).rank(); ++d) {
    const bool is_line = contains(op.ints(AttrKey::inserted_window_dims), d) ||
                         contains(op.ints(AttrKey::input_batching_dims), d);
    window.push_back(is_line ? 1 : rw.shape(op.operand(2)).dims[in_updates[next++]]);
  }
  return window;
}

// That of a scatter of one window to one operand.
std::optional<Dims> onlyWindow(const Rewriter& rw, const Op& op) {
  const size_t depth = op.ints(AttrKey::scatter_dims_to_operand_dims).size();
  if (op.operands.size() != 3) return {};
  if (rw.shape(op.operand(1)).elements() != static_cast<int64_t>(depth)) return {};
  Dims window = windowOf(rw, op);
  if (elementCount(window) != rw.shape(op.operand(2)).elements()) return {};
  return window;
}

Ints startOf(const Rewriter& rw, const Op& op, const Literal& indices) {
  const Ints& map = op.ints(AttrKey::scatter_dims_to_operand_dims);
  Ints start(rw.shape(op.operand(0)).rank(), 0);
  for (size_t k = 0; k < map.size(); ++k)
    start[map[k]] = static_cast<int64_t>(indices.number(indices.isSplat() ? 0 : k));
  return start;
}

// What takes the place of the slice; invalid where it is not one op on both.
Value updateOf(Rewriter& rw, const Op& op, const Ints& start, const Dims& window) {
  const Value update = rw.reshape(op.operand(2), window);
  const Region& body = rw.module().region(op.regions[0]);
  if (body.results[0] == body.args[1]) return update;
  const std::optional<OpKind> kind = reducerKind(rw.module(), op.regions[0]);
  if (!kind) return {};
  Ints limit = start;
  for (size_t d = 0; d < window.size(); ++d) limit[d] += window[d];
  const Value old = rw.slice(op.operand(0), start, limit, Ints(start.size(), 1));
  return rw.binary(*kind, old, update);
}

// At a known place.
Value placedScatterRule(Rewriter& rw, const Op& op) {
  const std::optional<Dims> window = onlyWindow(rw, op);
  const Literal* indices = window ? constantOf(rw, op.operand(1)) : nullptr;
  if (!indices) return {};
  const Dims& dims = rw.shape(op.operand(0)).dims;
  const Ints start = startOf(rw, op, *indices);
  for (size_t d = 0; d < dims.size(); ++d)
    if (start[d] < 0 || start[d] > dims[d] - (*window)[d]) return op.operand(0);
  const Value update = rw.beforeReader(op.operand(0), [&] {
    return updateOf(rw, op, start, *window);
  });
  if (!update.valid()) return {};
  Values starts;
  for (int64_t s : start)
    starts.push_back(rw.splat({indices->shape().dtype, {}}, static_cast<double>(s)));
  return rw.dynamicUpdateSlice(op.operand(0), update, starts);
}

// The number that stands at one place of a few that were put together; invalid: of another kind.
Value numberAt(const Rewriter& rw, Value numbers, int64_t at) {
  for (;;) {
    if (rw.shape(numbers).rank() == 0) return numbers;
    const Op* op = rw.def(numbers);
    if (!op) return {};
    if (op->kind == OpKind::concatenate_ && rw.shape(numbers).rank() == 1) {
      auto part = op->operands.begin();
      while (rw.shape(*part).elements() <= at) at -= rw.shape(*part++).elements();
      numbers = *part;
    } else if (op->kind == OpKind::reshape_) {
      numbers = op->operand(0);
    } else {
      return {};
    }
  }
}

// How many of the last dimensions the windows have whole.
size_t wholeDimensions(const Rewriter& rw, const Op& op) {
  const Dims &dims = rw.shape(op.operand(0)).dims, &updates = rw.shape(op.operand(2)).dims;
  const Ints& windows = op.ints(AttrKey::update_window_dims);
  size_t whole = 0;
  while (whole < dims.size() && whole < windows.size()) {
    const auto d = static_cast<int64_t>(dims.size() - whole - 1);
    const auto in_updates = static_cast<int64_t>(updates.size() - whole - 1);
    if (windows[windows.size() - whole - 1] != in_updates ||
        dims[static_cast<size_t>(d)] != updates[static_cast<size_t>(in_updates)] ||
        contains(op.ints(AttrKey::inserted_window_dims), d) ||
        contains(op.ints(AttrKey::input_batching_dims), d) ||
        contains(op.ints(AttrKey::scatter_dims_to_operand_dims), d))
      break;
    ++whole;
  }
  return whole;
}

Dims withLastJoined(const Dims& dims, size_t count) {
  Dims joined(dims.begin(), dims.end() - static_cast<ptrdiff_t>(count));
  joined.push_back(elementCount(std::span(dims).last(count)));
  return joined;
}

// Lines that fill no vectors are one with what lies behind them.
Value lineRule(Rewriter& rw, const Op& op) {
  constexpr int64_t kShortLine = 128;
  if (op.operands.size() != 3) return {};
  const Shape& result = rw.shape(op.result());
  const size_t whole = wholeDimensions(rw, op);
  if (whole < 2 || result.dims.back() >= kShortLine) return {};
  auto joined = [&](Value v) { return rw.reshape(v, withLastJoined(rw.shape(v).dims, whole)); };
  Values operands = {joined(op.operand(0)), op.operand(1), joined(op.operand(2))};
  Ints windows = op.ints(AttrKey::update_window_dims);
  windows.resize(windows.size() - whole + 1);
  const Type types[] = {rw.module().type(operands[0])};
  const OpId id = rw.module().addOp(OpKind::scatter_, std::move(operands), types);
  Op& lines = rw.module().op(id);
  lines.attrs = op.attrs;
  lines.set(AttrKey::update_window_dims, windows);
  lines.regions = op.regions;
  const Value sum = lines.result();
  rw.place(id);
  return rw.reshape(rw.now(sum), result.dims);
}

// A reduce_window whose windows have one element each, as cumsum's along a dimension of one.
Value oneElementRule(Rewriter& rw, const Op& op) {
  auto areAll = [&](AttrKey key, int64_t number) {
    return std::ranges::all_of(op.ints(key), [&](int64_t n) { return n == number; });
  };
  if (op.operands.size() != 2 || !areAll(AttrKey::window_dimensions, 1) ||
      !areAll(AttrKey::base_dilations, 1) || !areAll(AttrKey::padding, 0))
    return {};
  const std::optional<OpKind> kind = reducerKind(rw.module(), op.regions[0]);
  if (!kind) return {};
  const Dims& dims = rw.shape(op.operand(0)).dims;
  const Ints start(dims.size(), 0), limit(dims.begin(), dims.end());
  const Value one = rw.slice(op.operand(0), start, limit, op.ints(AttrKey::window_strides));
  return rw.binary(*kind, rw.broadcast(op.operand(1), rw.shape(one).dims, {}), one);
}

}  // namespace

Value updateWithinRange(Rewriter& rw, const Op& op, const IntegerRanges& ranges) {
  if (op.kind != OpKind::scatter_) return {};
  const Region& body = rw.module().region(op.regions[0]);
  if (body.results[0] != body.args[1]) return {};
  const std::optional<Dims> window = onlyWindow(rw, op);
  if (!window) return {};
  const Dims& dims = rw.shape(op.operand(0)).dims;
  const Ints& map = op.ints(AttrKey::scatter_dims_to_operand_dims);
  Values starts(dims.size(), Value{});
  for (size_t k = 0; k < map.size(); ++k) {
    const Value start = numberAt(rw, op.operand(1), static_cast<int64_t>(k));
    const std::optional<Range> range = start.valid() ? ranges.of(rw, start) : std::nullopt;
    if (!range || range->low < 0 || range->high > dims[map[k]] - (*window)[map[k]]) return {};
    starts[map[k]] = start;
  }
  for (Value& start : starts)
    if (!start.valid()) start = rw.splat({rw.shape(op.operand(1)).dtype, {}}, 0);
  return rw.dynamicUpdateSlice(op.operand(0), rw.reshape(op.operand(2), *window), starts);
}

Value canonicalWindow(Rewriter& rw, const Op& op) {
  switch (op.kind) {
    case OpKind::reduce_window_:
      return oneElementRule(rw, op);
    case OpKind::gather_:
      return gatherRule(rw, op);
    case OpKind::scatter_:
      if (Value by = placedScatterRule(rw, op); by.valid()) return by;
      return lineRule(rw, op);
    default:
      return {};
  }
}

}  // namespace tercel::passes
