#include "compiler/kernel/rows_nest.h"

namespace tercel::kernel {

// Vectors side by side, each with accumulators of its own.
void RowsNest::emitColumns(Emitter& e, const std::vector<Index>& groups,
                           std::span<const Position> columns) {
  std::vector<Elems> sums(columns.size());  // of all stages so far
  for (int stage = 0; stage < stages_.count(); ++stage) {
    Elems now = starts(e, stage, columns.size());
    size_t n = now.size() / columns.size();
    now = e.scope([&] { return columnStage(e, stage, groups, columns, sums, now); });
    for (size_t w = 0; w < columns.size(); ++w)
      for (const Elem& x : part(now, n, w)) sums[w].push_back(x);
  }
  storeColumns(e, groups, columns, sums);
}

RowsNest::Elems RowsNest::starts(Emitter& e, int stage, size_t columns) {
  Elems start = startValues(e, stage), all;
  for (size_t w = 0; w < columns; ++w) all.insert(all.end(), start.begin(), start.end());
  return all;
}

// sums: of each column, those of all stages.
void RowsNest::storeColumns(Emitter& e, std::vector<Index> groups,
                            std::span<const Position> columns, const std::vector<Elems>& sums) {
  for (size_t w = 0; w < columns.size(); ++w) {
    bindColumn(e, stages_.count(), sums[w]);
    groups[plan_.vector()] = columns[w].index;
    e.guarded(columns[w].guard, [&] { storeReducedOutputs(e, plan_.domainAt(groups)); });
  }
}

RowsNest::Elems RowsNest::columnStage(Emitter& e, int stage, const std::vector<Index>& groups,
                                      std::span<const Position> columns,
                                      const std::vector<Elems>& sums, Elems start) {
  return b_.fetchingAhead(rowsAhead(), [&] {
    return reducedLoops(e, stage, groups, start, [&](std::vector<Index>& at, Elems values) {
      return columnStep(e, stage, at, columns, sums, values);
    });
  });
}

// As far as it is to the same column of a later row, in what is read as it lies: rows are too far
// apart to be a stream.
int64_t RowsNest::rowsAhead() const {
  constexpr int64_t kRows = 8, kFewestRows = 1024;
  const auto& reduced = cluster_.reduced;
  size_t d = reduced.size();
  int64_t row = 1;
  while (d > 0 && !reduced[d - 1]) row *= cluster_.domain[--d];
  while (d > 0 && reduced[d - 1]) --d;
  while (d > 0 && !reduced[d - 1]) --d;
  return d == 0 && rowSize() >= kFewestRows && readsWhole() ? kRows * row : 0;
}

// One place of each column.
RowsNest::Elems RowsNest::columnStep(Emitter& e, int stage, std::vector<Index>& at,
                                     std::span<const Position> columns,
                                     const std::vector<Elems>& sums, const Elems& values) {
  size_t n = values.size() / columns.size();
  return bySubnormals(e, stage, values, [&](const Elems& before) {
    Elems all;
    for (size_t w = 0; w < columns.size(); ++w) {
      bindColumn(e, stage, sums[w]);
      column_ = columnIndex(w);
      for (int s = 0; s < stage; ++s) bindSaved(e, s);
      at[plan_.vector()] = columns[w].index;
      Elems next = e.scope([&] {
        return visit(e, stage, plan_.domainAt(at), columns[w].guard, part(before, n, w));
      });
      all.insert(all.end(), next.begin(), next.end());
    }
    return all;
  });
}

Index RowsNest::columnIndex(size_t w) {
  int lanes = plan_.lanes();
  Index lane = lanes > 1 ? space_.loop(b_.index(0), lanes, true) : Index(0);
  return space_.add(lane, Index(static_cast<int64_t>(w) * lanes));
}

// The reductions of the stages before `stage`, of one column vector.
void RowsNest::bindColumn(Emitter& e, int stage, std::span<const Elem> sums) {
  for (int s = 0; s < stage; ++s) {
    bindReduced(e, s, sums);
    for (size_t r : stages_.reductionsOf(s)) sums = sums.subspan(width(stages_.op(r)));
  }
}

}  // namespace tercel::kernel
