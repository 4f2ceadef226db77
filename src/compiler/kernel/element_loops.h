// Loops over a piece of a domain, the innermost one vectorised, shared out as tasks.
#pragma once
#include <algorithm>
#include <optional>

#include "compiler/kernel/domain_pieces.h"
#include "compiler/kernel/nest.h"

namespace tercel::kernel {

inline constexpr int64_t kTaskElements = 4096;  // of the innermost loop, for one task

// The outer loops as one range of tasks, and the vectorised one cut in blocks.
struct TaskShape {
  std::vector<int64_t> outer;  // extents of the groups that tasks enumerate
  size_t inner_groups = 0;     // groups left to loop over inside a task
  int64_t blocks = 1;          // of the vectorised group
  int64_t block = 0;           // how far each goes along it
  int64_t count() const { return elementCount(outer) * blocks; }
};

// Rows too short for a vector, whose vectors go on into the next rows: `vectors` of them end where a
// row does, `rows` further.
struct ShortRows {
  int64_t length = 1, vectors = 1, rows = 1;
  Dims extents;  // of the loops along a row
  // Computed values that are the same all along a row: made once for the rows of these vectors.
  std::vector<ir::Value> same;
};

// The loops over one piece of the domain.
class ElementLoops {
 public:
  ElementLoops(Lowering& low, Piece piece, bool is_whole, const Evaluate& evaluate);
  ElementLoops(const ElementLoops&) = delete;
  int64_t tasks() const { return tasks_.count(); }
  bool goesOverRows() const { return short_.length > 1; }
  bool loads() const {
    return !std::ranges::all_of(plan_.accesses, [](const Access& a) { return a.is_store; });
  }
  void emitTask(V task);
  void emitAll();

 private:
  bool movesLines() const;
  int64_t workOfElement() const;
  int widest() const;
  void chooseVectors();
  bool splitsFarLines() const;
  bool splitsFarLines(size_t access) const;
  int64_t run() const;
  bool streams() const;
  bool runsLong() const;
  bool overlapsLast() const;
  bool writesWhatItReads() const;
  bool knowsPlaces() const;
  // Where constants say which lane goes where, whole vectors are written out, too.
  int64_t longestRow(const Dims& extents) const;
  bool goesByElements() const;
  bool chooseShortRows();
  bool chooseAllRows();
  void goOverRows();
  bool readsInRows(size_t outer, int64_t length) const;
  int64_t mostOps(int64_t vectors) const;
  int64_t opsWithin(int64_t neighbours) const;
  bool sharesFunction(const ShortRows& rows, size_t outer) const;
  bool suits(ShortRows& rows, size_t outer, bool fills_vectors) const;
  std::vector<ir::Value> sameInRows(size_t outer) const;
  bool isSpread(const ir::Op& op, size_t outer) const;
  bool isScattered(size_t access, size_t outer, int64_t length) const;
  bool findsPlace(size_t access, size_t outer) const;
  bool isInWindow(const ir::Op& gather, size_t outer) const;
  bool isInOrder(const std::vector<int64_t>& strides, size_t outer) const;
  Index asLoop(const Index& i, int64_t extent);
  void emitInner(std::vector<Index> groups, const Index& block);
  void emitVectorLoop(const std::vector<Index>& groups, const Index& block);
  std::optional<size_t> storeToAlign() const;
  bool storesSideBySide() const;
  V emitHead(const std::vector<Index>& groups, int64_t extent, size_t store);
  void ifAny(V count, const std::function<void()>& emit);
  void emitFromTo(const std::vector<Index>& groups, V lo, V hi, int64_t extent);
  void emitWithoutMasks(const std::vector<Index>& groups, int64_t whole, int64_t extent);
  void emitVectors(const std::vector<Index>& groups, V lo, V hi, int64_t extent);
  void emitTail(const std::vector<Index>& groups, V at, V count, int64_t extent);
  std::vector<Index> vectorAt(std::vector<Index> groups, V i, int64_t extent, bool vector,
                              int64_t v);
  using RowValues = std::vector<Elem>;  // of short_.same, an element for each row
  // From row i on, `count` of them; invalid: as many as the vectors have.
  RowValues rowValues(std::vector<Index> groups, V i, int64_t extent, V count);
  Elem alongRows(const Elem& of_rows, int64_t v);
  void emitBody(const std::vector<Index>& groups, Guard guard, const RowValues& values = {},
                int64_t v = 0);

  Lowering& low_;
  Piece piece_;
  bool is_whole_;
  Evaluate evaluate_;
  Builder& b_;
  IndexSpace space_;
  LoopPlan plan_;
  TaskShape tasks_;
  size_t loops_ = 0;  // groups that have a loop; the last one's is vectorised
  int lanes_ = 1;
  int64_t step_ = 1;  // of the vectorised loop
  ShortRows short_;   // of length 1 where vectors lie within a row
  Index lane_;        // of short rows
};

}  // namespace tercel::kernel
