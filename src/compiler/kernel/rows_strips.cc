#include <algorithm>

#include "compiler/kernel/rows_nest.h"

namespace tercel::kernel {
namespace {

// Memory brings rows from end to end best; long pieces of several rows, too, but not short ones.
// Whole vectors of 512 bits, though, go to the sums in the nearest cache and back slower than that.
constexpr int64_t kStripBytes = 64 << 10, kShortRow = 8 << 10, kPieceRows = 8;
constexpr int64_t kFewestTasks = 4;
constexpr int64_t kLarge = 8 << 20;  // bytes, more than caches near a core hold

}  // namespace

// Decides how many blocks of columns a task has: several where their rows come from memory.
void RowsNest::chooseStrips() {
  int64_t bytes = 0, widest = 1;
  for (ir::Value v : cluster_.inputs) {
    bytes = std::max(bytes, m_.shape(v).bytes());
    widest = std::max<int64_t>(widest, byteSize(m_.shape(v).dtype));
  }
  if (bytes < kLarge || plan_.empty() || plan_.rows() || stages_.count() != 1 || !saved_.empty() ||
      !repeatable_ || !isPlain() || plan_.walkedGroups().size() != 1)
    return;
  const int64_t row = plan_.vectorExtent(), all = elementCount(cluster_.domain) / rowSize();
  const int64_t columns = std::min({kStripBytes / widest, all / kFewestTasks, row});
  const bool is_row = columns == row && row * widest <= kShortRow;
  const bool is_slow_row = b_.machine.vector_bytes == 64 && !b_.machine.halves_vectors;
  strip_rows_ = is_row && !is_slow_row ? 1 : kPieceRows;
  const int64_t block = width_ * plan_.lanes(), blocks = (columns + block - 1) / block;
  if (rowSize() >= 2 * kPieceRows) plan_.useStrips(std::max<int64_t>(1, blocks));
}

// Additions follow each other as they do without strips: of a run of rows, then of the runs.
void RowsNest::emitStrip(Emitter& outer, const std::vector<Index>& groups) {
  std::vector<BufferId> sums, run;
  for (const Elem& x : startValues(outer, 0))
    for (auto* buffers : {&sums, &run})
      buffers->push_back(b_.addScratch(b_.type(x.re).scalar, plan_.stripColumns()));
  plan_.forBlocks(groups, [&](Emitter& e, const auto&, std::span<const Position> columns) {
    for (const auto& buffers : {sums, run})
      storeStrip(columns, buffers, starts(e, 0, columns.size()));
  });
  const V rows = b_.index(rowSize());
  b_.forLoop(b_.index(0), rows, kLongestRun, [&](V begin) {
    const V end = b_.binary(Opcode::smin, b_.iadd(begin, b_.index(kLongestRun)), rows);
    b_.forLoop(begin, end, strip_rows_, [&](V first) {
      const V last = b_.binary(Opcode::smin, b_.iadd(first, b_.index(strip_rows_)), end);
      plan_.forBlocks(groups, [&](Emitter& e, const auto& at, std::span<const Position> columns) {
        storeStrip(columns, run, addRows(e, at, columns, loadStrip(columns, run), first, last));
      });
    });
    plan_.forBlocks(groups, [&](Emitter& e, const auto&, std::span<const Position> columns) {
      storeStrip(columns, sums, mergeAll(e, 0, loadStrip(columns, sums), loadStrip(columns, run)));
      storeStrip(columns, run, starts(e, 0, columns.size()));
    });
  });
  plan_.forBlocks(groups, [&](Emitter& e, const auto& at, std::span<const Position> columns) {
    std::vector<Elems> results;
    for (const Position& p : columns) results.push_back(loadStrip(std::span(&p, 1), sums));
    storeColumns(e, at, columns, results);
  });
}

RowsNest::Elems RowsNest::addRows(Emitter& e, std::vector<Index> groups,
                                  std::span<const Position> columns, Elems sums, V first, V last) {
  const size_t walked = plan_.walkedGroups()[0];
  const std::vector<Elems> none(columns.size());  // of stages before this one
  return elemLoop(e, first, last, 1, std::move(sums), [&](V row, const Elems& values) {
    groups[walked] = space_.loop(row, rowSize());
    return columnStep(e, 0, groups, columns, none, values);
  });
}

RowsNest::Elems RowsNest::loadStrip(std::span<const Position> columns,
                                    std::span<const BufferId> buffers) {
  Elems values;
  for (const Position& p : columns)
    for (BufferId buffer : buffers) values.push_back({b_.load(buffer, p.first, plan_.lanes()), {}});
  return values;
}

void RowsNest::storeStrip(std::span<const Position> columns, std::span<const BufferId> buffers,
                          const Elems& values) {
  for (size_t i = 0; i < values.size(); ++i)
    b_.store(buffers[i % buffers.size()], columns[i / buffers.size()].first, values[i].re);
}

}  // namespace tercel::kernel
