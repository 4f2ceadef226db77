#include <algorithm>

#include "compiler/kernel/rows_nest.h"
#include "core/integers.h"

namespace tercel::kernel {

void RowsNest::emitRow(Emitter& e, const std::vector<Index>& groups) {
  for (int stage = 0; stage < stages_.count(); ++stage) {
    Elems sums = e.scope([&] { return rowStage(e, stage, groups); });
    bindReduced(e, stage, sums);
    bindSaved(e, stage);
  }
  storeReducedOutputs(e, plan_.domainAt(groups));
}

RowsNest::Elems RowsNest::rowStage(Emitter& e, int stage, const std::vector<Index>& groups) {
  const Elems vectors = rowVectors(e, stage, groups);
  if (V flag = flagOfLanes(stage, vectors); flag.valid()) return {{flag, {}}};
  return foldLanes(b_, vectors, plan_.lanes(), merge(e, stage));
}

// Whether any lane holds, or all do, where nothing else is asked: one instruction, no shuffles.
V RowsNest::flagOfLanes(int stage, const Elems& vectors) {
  const auto reductions = stages_.reductionsOf(stage);
  if (reductions.size() != 1 || vectors.size() != 1 || !b_.type(vectors[0].re).isVector())
    return {};
  const ir::Op& reduce = stages_.op(reductions[0]);
  const ir::Region& body = m_.region(reduce.regions[0]);
  if (!isPred(m_.shape(reduce.result()).dtype) || body.ops.size() != 1) return {};
  const V x = vectors[0].re;
  auto without = [&](V flags) {
    return b_.binary(Opcode::xor_, flags, b_.constant(b_.type(flags), 1));
  };
  switch (m_.op(body.ops[0]).kind) {
    case ir::OpKind::or_: case ir::OpKind::maximum_: return b_.any(x);
    case ir::OpKind::and_: case ir::OpKind::minimum_: return without(b_.any(without(x)));
    default: return {};
  }
}

// Sets of them, so that vectors need not wait for each other: where work hides that, one is enough.
// Of a short run that comes again and again, each vector has its own where an operation takes long.
// They start from the init several times.
size_t RowsNest::accumulators(int stage, size_t n) const {
  constexpr int64_t kLongRun = 8, kOfShortRuns = 4;
  if (n == 0 || n > 2 || !repeatable_ || stages_.computesCostly(stage)) return 1;
  const int64_t vectors = (plan_.vectorExtent() + plan_.lanes() - 1) / plan_.lanes();
  if (plan_.vectorExtent() >= kLongRun * plan_.lanes())
    return n == 1 && low_.machine.vector_bytes < 64 ? 8 : 4;
  if (plan_.walkedGroups().size() == 1 || !foldsSlowly()) return 1;
  return static_cast<size_t>(std::min(vectors, kOfShortRuns));
}

// Whose lanes are still to be merged.
RowsNest::Elems RowsNest::rowVectors(Emitter& e, int stage, const std::vector<Index>& groups) {
  Elems start = startValues(e, stage);
  size_t n = start.size();
  const size_t unroll = accumulators(stage, n);
  Elems now;
  for (size_t u = 0; u < unroll; ++u) now.insert(now.end(), start.begin(), start.end());
  now = reducedLoops(e, stage, groups, now, [&](std::vector<Index>& at, Elems values) {
    return vectorLoop(e, stage, at, std::move(values), n);
  });
  Elems sums(now.begin(), now.begin() + static_cast<int64_t>(n));
  for (size_t u = 1; u < unroll; ++u) sums = merge(e, stage)(sums, part(now, n, u));
  return sums;
}

// Rows whose lanes are merged at once.
void RowsNest::emitBlock(Emitter& e, std::vector<Index> groups, const Position& rows) {
  std::vector<Elems> sums;
  if (makesVectors())
    sums.push_back(bySubnormals(e, 0, startValues(e, 0), [&](const Elems&) {
      return blockInRegisters(e, groups, rows, 0, plan_.lanes());
    }));
  else
    sums = blockInMemory(e, groups, rows);
  for (size_t stage = 0; stage < sums.size(); ++stage)
    bindReduced(e, static_cast<int>(stage), sums[stage]);
  groups[plan_.rowGroup()] = rows.index;
  e.guarded(rows.guard, [&] { storeReducedOutputs(e, plan_.domainAt(groups)); });
}

// Of `count` of them from one on: as many parts of a vector, each with lanes still to be merged.
// Where rows are missing, the last one is taken again.
RowsNest::Elems RowsNest::blockInRegisters(Emitter& e, const std::vector<Index>& groups,
                                           const Position& rows, int64_t first, int64_t count) {
  if (count <= plan_.rowsOfVector())
    return e.scope([&] {
      V row = b_.index(first);
      if (rows.guard.lanes.valid())
        row = b_.binary(Opcode::smin, row, b_.isub(rows.count, b_.index(1)));
      std::vector<Index> at = groups;
      at[plan_.rowGroup()] = space_.loop(b_.iadd(rows.first, row), plan_.rowCount());
      return count == 1 ? rowVectors(e, 0, at) : vectorOfRows(e, at);
    });
  const Elems left = blockInRegisters(e, groups, rows, first, count / 2);
  const Elems right = blockInRegisters(e, groups, rows, first + count / 2, count / 2);
  const int lanes = plan_.lanes(), width = 2 * lanes / static_cast<int>(count);
  return foldPair(b_, left, right, lanes, width, merge(e, 0));
}

// What rows that fill a vector begin with, from one on.
RowsNest::Elems RowsNest::vectorOfRows(Emitter& e, std::vector<Index> groups) {
  const Index lane = space_.loop(b_.index(0), plan_.lanes(), true);
  const int64_t size = plan_.vectorExtent();
  Index& row = groups[plan_.rowGroup()];
  row = space_.add(row, space_.quotient(lane, size));
  groups[plan_.vector()] = space_.remainder(lane, size);
  return visit(e, 0, plan_.domainAt(groups), {}, startValues(e, 0));
}

// The sums of each stage, of rows one after another; where all have been, their lanes are merged.
std::vector<RowsNest::Elems> RowsNest::blockInMemory(Emitter& e, std::vector<Index> groups,
                                                     const Position& rows) {
  int64_t lanes = plan_.lanes();
  std::vector<std::vector<BufferId>> kept;  // of each stage: the accumulators of the rows
  std::vector<Elems> sums;
  for (int stage = 0; stage < stages_.count(); ++stage) {
    std::vector<BufferId> squares;
    for (const Elem& x : startValues(e, stage))
      squares.push_back(b_.addScratch(b_.type(x.re).scalar, lanes * lanes));
    b_.forLoop(b_.index(0), rows.count, 1, [&](V row) {
      e.scope([&] {
        groups[plan_.rowGroup()] = space_.loop(b_.iadd(rows.first, row), plan_.rowCount());
        column_ = space_.scale(space_.loop(row, lanes), row_size_);
        for (int s = 0; s < stage; ++s) {
          Elems own;
          for (BufferId buffer : kept[static_cast<size_t>(s)])
            own.push_back({b_.load(buffer, row, 1), {}});
          bindReduced(e, s, own);
          bindSaved(e, s);
        }
        Elems vectors = rowVectors(e, stage, groups);
        for (size_t i = 0; i < squares.size(); ++i)
          b_.store(squares[i], b_.imul(row, b_.index(lanes)), vectors[i].re);
      });
    });
    kept.push_back(squares);
    if (squares.empty()) continue;
    sums.push_back(foldSquare(b_, squares, plan_.lanes(), merge(e, stage)));
    for (size_t i = 0; i < squares.size() && stage + 1 < stages_.count(); ++i)
      b_.store(squares[i], b_.index(0), sums.back()[i].re);
  }
  return sums;
}

// Elements that a stage fetches ahead. Of several stages the first reads a row from where it is;
// while the second computes, memory has time for the next row, which it brings near.
int64_t RowsNest::fetchedAhead(int stage) const {
  constexpr int64_t kLongestNear = 16 << 10;
  if (!readsWhole() || !std::ranges::is_sorted(cluster_.reduced)) return 0;
  const int64_t least = kVectorsAhead * plan_.lanes(), row = rowSize();
  const bool keeps = std::ranges::any_of(saved_, [](const Saved& s) { return s.stage == 0; });
  if (stages_.count() == 1 || keeps || row > kLongestNear) return stage == 0 ? least : 0;
  return stage == 1 ? roundUp(least, row) : 0;
}

// As many vectors at a time as there are sets of `n` accumulators, then single ones, then the
// rest.
RowsNest::Elems RowsNest::vectorLoop(Emitter& e, int stage, std::vector<Index> groups, Elems now,
                                     size_t n) {
  if (plan_.empty()) return visit(e, stage, plan_.domainAt(groups), {}, now);
  int64_t lanes = plan_.lanes(), extent = plan_.vectorExtent();
  const int64_t sets = n == 0 ? 1 : static_cast<int64_t>(now.size() / n);
  const int64_t unroll = std::max<int64_t>(1, std::min(sets, extent / lanes));
  auto visitAt = [&](V i, int64_t u, int64_t set, const Guard& guard, Elems& values) {
    groups[plan_.vector()] = plan_.vectorIndex(i, u * lanes);
    Elems next = e.scope([&] {
      return visit(e, stage, plan_.domainAt(groups), guard, part(values, n, static_cast<size_t>(set)));
    });
    std::ranges::copy(next, values.begin() + static_cast<int64_t>(n) * set);
  };
  int64_t whole = extent / (lanes * unroll) * (lanes * unroll), vectors = extent / lanes * lanes;
  now = b_.fetchingAhead(fetchedAhead(stage), [&] {
    return elemLoop(e, 0, whole, lanes * unroll, now, [&](V i, const Elems& before) {
      return bySubnormals(e, stage, before, [&](Elems values) {
        for (int64_t u = 0; u < unroll; ++u) visitAt(i, u, u, {}, values);
        return values;
      });
    });
  });
  if (whole == extent) return now;
  return bySubnormals(e, stage, now, [&](Elems rest) {
    rest = elemLoop(e, whole, vectors, lanes, rest, [&](V i, Elems values) {
      visitAt(i, 0, 0, {}, values);
      return values;
    });
    Guard last = firstLanes(b_, plan_.lanes(), b_.index(extent - vectors));
    if (vectors < extent) visitAt(b_.index(vectors), 0, sets - 1, last, rest);
    return rest;
  });
}

}  // namespace tercel::kernel
