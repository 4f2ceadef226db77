// How a nest that walks some dimensions of its domain from end to end (reduced or scanned ones)
// lays out its loops: which one has the lanes, and what a task is.
//
// Lanes lie along a walked dimension (rows), or along another one (columns): a task then has
// several vectors side by side, or a strip of such blocks. A task has one row, or a block of as
// many as there are lanes.
#pragma once
#include <algorithm>

#include "compiler/kernel/nest.h"

namespace tercel::kernel {

// A place on the vectorised loop, or the rows of a block, and which of its lanes exist.
struct Position {
  Index index;
  Guard guard;
  V first, count;  // of a block: the first row, and how many there are; of a strip: its place there;
                   // of the first columns of several: the first one, and how many there are
};

// `body` at lo, lo + step ... below hi, with carried elements, in a scope of its own.
using Step = std::function<std::vector<Elem>(V, std::vector<Elem>)>;
std::vector<Elem> elemLoop(Emitter& e, V lo, V hi, int64_t step, std::vector<Elem> carried,
                           const Step& body);
std::vector<Elem> elemLoop(Emitter& e, int64_t lo, int64_t hi, int64_t step,
                           std::vector<Elem> carried, const Step& body);

class LanePlan {
 public:
  LanePlan(Lowering& low, IndexSpace& space) : low_(low), b_(low.builder), space_(space) {}

  // in_order: what is walked is walked from its first element to its last.
  void choose(const Dims& domain, const std::vector<bool>& walked, const Evaluate& evaluate,
              bool in_order = false);
  void useScalars() { lanes_ = 1; }
  bool avoidRowsUpTo(int64_t longest);  // true: columns instead
  bool blockRowsUpTo(int64_t longest);  // true: blocks of rows
  // How many rows of few elements, one after another in memory, a vector holds: there are blocks of
  // them then. 0: none are packed.
  int64_t packRows();
  // The same of rows that fill vectors, with as many in a block as there are lanes.
  bool fillWithRows();
  int64_t rowsOfVector() const { return std::max<int64_t>(1, lanes_ / vectorExtent()); }
  // The last vector of columns, or block of rows, ends with them, for what it stores may be stored
  // again.
  void overlapLast() { overlaps_last_ = true; }
  void useStrips(int64_t blocks) { strip_ = blocks; }  // of columns, that a task has
  // `body` for each task, with the indices of the groups that tasks enumerate; of columns also the
  // positions of at most `width` vectors, of a block of rows its own.
  using Body = std::function<void(Emitter&, const std::vector<Index>&, std::span<const Position>)>;
  void forTasks(int64_t width, const Body& body);
  // Of a task that is a strip: `body` for each of its blocks of columns.
  void forBlocks(const std::vector<Index>& groups, const Body& body);

  const LoopPlan& loops() const { return loops_; }
  bool empty() const { return loops_.groups.empty(); }
  int lanes() const { return lanes_; }
  bool rows() const { return rows_; }
  bool strips() const { return strip_ > 1; }
  int64_t stripColumns() const { return strip_ * width_ * lanes_; }
  bool blocks() const { return row_group_ != kNone; }
  size_t rowGroup() const { return row_group_; }
  int64_t blockRows() const { return block_rows_; }
  int64_t rowCount() const { return loops_.groupExtent(row_group_); }
  size_t vector() const { return vector_; }
  int64_t vectorExtent() const { return empty() ? 1 : loops_.groupExtent(vector_); }
  std::vector<size_t> walkedGroups() const;
  bool isWalked(size_t group) const { return walked_[loops_.loops[loops_.groups[group][0]].dim]; }
  // The vectorised loop's index `offset` beyond its variable `at`.
  Index vectorIndex(V at, int64_t offset = 0);
  Indices domainAt(std::span<const Index> groups) {
    return domainIndices(space_, loops_, walked_.size(), groups);
  }
  bool streams() const;  // the outputs, where all of them are stored whole vectors at a time

 private:
  static constexpr size_t kNone = ~size_t{0};
  int64_t rowSize() const;
  int64_t stripCount() const { return (blocks_ + strip_ - 1) / strip_; }
  int64_t spread(size_t access) const;
  bool isInOrder(size_t access, size_t row, size_t along) const;
  bool isRepeated(size_t access, size_t row, size_t along) const;
  int fourByteLanes() const;
  void chooseVector();
  bool gathersNarrow(size_t group, int64_t near = 1) const;
  void emitTask(V task, const Body& body);
  void emitLastApart(std::vector<Index> groups, const Index& block, const Body& body);
  void emitGroups(const std::vector<Index>& groups, const Index& block, const Body& body);
  void emitColumns(const std::vector<Index>& groups, const Index& block, const Body& body);
  void rowBlock(const std::vector<Index>& groups, const Index& block, const Body& body);
  void columnBlock(const std::vector<Index>& groups, V at, int width, int64_t count,
                   const Body& body);

  Lowering& low_;
  Builder& b_;
  IndexSpace& space_;
  std::vector<bool> walked_;
  LoopPlan loops_;
  size_t vector_ = 0;
  int lanes_ = 1;
  bool rows_ = true;
  size_t row_group_ = kNone;  // that blocks of rows are cut of
  int64_t block_rows_ = 0;
  int width_ = 1;  // vectors of a block of columns
  bool overlaps_last_ = false;
  int64_t blocks_ = 1, strip_ = 1, tasks_ = 1;
  V strip_begin_, strip_end_;  // its blocks
  std::vector<size_t> task_groups_;
  Dims task_extents_;
};

}  // namespace tercel::kernel
