#include "compiler/ir/readings.h"

#include <algorithm>
#include <optional>

namespace tercel::ir {
namespace {

Reading both(const Reading& a, const Reading& b) {
  if (a.read == Read::none || a == b) return b;
  return b.read == Read::none ? a : Reading{Read::elsewhere};
}

// Where a slice or an update starts, if constants say so.
std::optional<Ints> knownStart(const Module& m, std::span<const Value> at, const Dims& array,
                               const Dims& dims) {
  Ints start;
  for (size_t d = 0; d < at.size(); ++d) {
    const Op* op = m.def(at[d]);
    if (!op || op->kind != OpKind::constant_) return {};
    const double last = static_cast<double>(array[d] - dims[d]);
    start.push_back(static_cast<int64_t>(std::clamp(op->literal().number(0), 0.0, last)));
  }
  return start;
}

Window windowAt(const Module& m, std::span<const Value> at, const Dims& array, const Dims& dims) {
  if (std::optional<Ints> start = knownStart(m, at, array, dims)) return {*start, {}, dims};
  return {{}, Values(at.begin(), at.end()), dims};
}

bool isDense(const Op& slice) {
  return std::ranges::all_of(slice.ints(AttrKey::strides), [](int64_t s) { return s == 1; });
}

}  // namespace

Window windowOf(const Module& m, const Op& update) {
  return windowAt(m, std::span(update.operands).subspan(2), m.shape(update.operand(0)).dims,
                  m.shape(update.operand(1)).dims);
}

void Readings::add(const Op& op) {
  for (Value v : op.results) of_[v.index] = reading(op);
}

Reading Readings::of(Value v) const {
  auto at = of_.find(v.index);
  return at == of_.end() ? Reading{} : at->second;
}

Reading Readings::reading(const Op& op) const {
  Reading all;
  for (Value v : op.operands) all = both(all, of(v));
  if (all.read == Read::none || isElementwise(op.kind) || op.kind == OpKind::reshape_) return all;
  const bool one = std::ranges::none_of(std::span(op.operands).subspan(1), [&](Value v) {
    return of(v).read != Read::none;
  });
  const bool whole = one && all.read == Read::in_place;
  switch (op.kind) {
    case OpKind::slice_:
      if (!whole || !isDense(op)) break;
      return {Read::window, {op.ints(AttrKey::start_indices), {}, m_.shape(op.result()).dims}};
    case OpKind::dynamic_slice_:
      if (!whole) break;
      return {Read::window, windowAt(m_, std::span(op.operands).subspan(1),
                                     m_.shape(op.operand(0)).dims, m_.shape(op.result()).dims)};
    case OpKind::dynamic_update_slice_:  // an update is in memory before anybody reads it
      if (one || (of(op.operand(0)).read == Read::in_place && updatesWhereItReads(op)))
        return of(op.operand(0));
      if (of(op.operand(0)).read == Read::none) return {};
      break;
    case OpKind::scatter_:
      if (one) return all;
      break;
    default: break;
  }
  return {Read::elsewhere};
}

bool Readings::updatesWhereItReads(const Op& update) const {
  const Reading inner = of(update.operand(1));
  const auto starts = std::span(update.operands).subspan(2);
  return std::ranges::all_of(starts, [&](Value v) { return of(v).read == Read::none; }) &&
         (inner.read == Read::none ||
          (inner.read == Read::window && inner.window == windowOf(m_, update)));
}

}  // namespace tercel::ir
