// Reductions over rows with what feeds them and what uses them, one row (or a few columns) at a
// time: softmax and layer norm read their row from memory once.
#pragma once
#include "compiler/kernel/lane_fold.h"
#include "compiler/kernel/lane_plan.h"
#include "compiler/kernel/row_stages.h"
#include "compiler/kernel/thin_rows.h"

namespace tercel::kernel {

inline constexpr int64_t kLongestRun = 256;  // of floats that are added one after another

class RowsNest {
 public:
  explicit RowsNest(Lowering& low)
      : m_(low.module), low_(low), cluster_(low.cluster), b_(low.builder), space_(b_),
        stages_(m_, cluster_), plan_(low, space_) {}
  void run();

 private:
  using Elems = std::vector<Elem>;
  // A value kept in scratch memory from the stage that makes it.
  struct Saved {
    size_t op;
    int stage;
    BufferId scratch;
  };
  static size_t width(const ir::Op& reduction) { return reduction.results.size(); }
  static std::span<const Elem> part(const Elems& elems, size_t size, size_t which) {
    return std::span(elems).subspan(size * which, size);
  }
  DType savedType(size_t op) const { return m_.shape(stages_.op(op).result()).dtype; }

  // nest_rows.cc: what is decided before.
  void probe(Emitter& e, const Indices& domain);
  bool isCostly() const;
  bool foldsSlowly(const ir::Op& reduction) const;
  bool foldsSlowly() const;
  bool readsNarrow() const;
  int64_t longestGatheredRow() const;
  int64_t longestBlockedRow() const;
  bool makesVectors() const;
  int64_t rowSize() const;
  bool isPlain() const;
  bool makesFlags() const;
  bool readsWhole() const;
  void findSaved();

  // rows_values.cc: what a stage computes at one place, and what is kept of it.
  Elems operands(Emitter& e, size_t r, const Indices& domain);
  void storeOutput(Emitter& e, size_t o, Indices at);
  void storeReducedOutputs(Emitter& e, const Indices& domain);
  Elems startValues(Emitter& e, int stage);
  Elems starts(Emitter& e, int stage, size_t columns);
  Elems visit(Emitter& e, int stage, const Indices& domain, const Guard& guard,
              std::span<const Elem> before);
  Index savedIndex(const Indices& domain, const Index& column);
  void save(Emitter& e, const Saved& s, const Indices& domain);
  void bindSaved(Emitter& e, int stage);
  void bindReduced(Emitter& e, int stage, std::span<const Elem> values);
  Merge merge(Emitter& e, int stage);
  using Sums = std::function<Elems(Elems)>;
  Elems bySubnormals(Emitter& e, int stage, const Elems& before, const Sums& sums);
  bool addsFloats(int stage) const;
  using Inner = std::function<Elems(std::vector<Index>&, Elems)>;
  Elems reducedLoops(Emitter& e, int stage, std::vector<Index> groups, const Elems& start,
                     const Inner& inner);
  Elems mergeAll(Emitter& e, int stage, const Elems& a, const Elems& b);

  // rows_along.cc: vectors lie along the rows.
  void emitRow(Emitter& e, const std::vector<Index>& groups);
  Elems vectorOfRows(Emitter& e, std::vector<Index> groups);
  Elems rowStage(Emitter& e, int stage, const std::vector<Index>& groups);
  size_t accumulators(int stage, size_t n) const;
  Elems rowVectors(Emitter& e, int stage, const std::vector<Index>& groups);
  V flagOfLanes(int stage, const Elems& vectors);
  void emitBlock(Emitter& e, std::vector<Index> groups, const Position& rows);
  std::vector<Elems> blockInMemory(Emitter& e, std::vector<Index> groups, const Position& rows);
  Elems blockInRegisters(Emitter& e, const std::vector<Index>& groups, const Position& rows,
                         int64_t first, int64_t count);
  Elems vectorLoop(Emitter& e, int stage, std::vector<Index> groups, Elems now, size_t n);
  int64_t fetchedAhead(int stage) const;

  // rows_across.cc: vectors lie across the rows, each with accumulators of its own.
  void emitColumns(Emitter& e, const std::vector<Index>& groups, std::span<const Position> columns);
  Elems columnStage(Emitter& e, int stage, const std::vector<Index>& groups,
                    std::span<const Position> columns, const std::vector<Elems>& sums,
                    Elems start);
  Elems columnStep(Emitter& e, int stage, std::vector<Index>& at, std::span<const Position> columns,
                   const std::vector<Elems>& sums, const Elems& values);
  void storeColumns(Emitter& e, std::vector<Index> groups, std::span<const Position> columns,
                    const std::vector<Elems>& sums);
  int64_t rowsAhead() const;
  Index columnIndex(size_t w);
  void bindColumn(Emitter& e, int stage, std::span<const Elem> sums);

  // rows_strips.cc: a few rows of a strip of columns at a time, whose sums are in memory.
  void chooseStrips();
  void emitStrip(Emitter& outer, const std::vector<Index>& groups);
  Elems addRows(Emitter& e, std::vector<Index> groups, std::span<const Position> columns,
                Elems sums, V first, V last);
  Elems loadStrip(std::span<const Position> columns, std::span<const BufferId> buffers);
  void storeStrip(std::span<const Position> columns, std::span<const BufferId> buffers,
                  const Elems& values);

  // rows_turned.cc: of thin rows across vectors, a block is turned on its way in and out.
  bool suitsTurned() const;
  void useTurned();
  bool isThin(ir::Value v) const;
  bool isTurnable(ir::Value v) const;
  bool isReadInOrder(size_t input) const;
  void emitTurned(Emitter& e, const std::vector<Index>& groups, const Position& rows);
  Emitter::Placement turnedPlace();

  const ir::Module& m_;
  Lowering& low_;
  const Cluster& cluster_;
  Builder& b_;
  IndexSpace space_;
  RowStages stages_;
  LanePlan plan_;
  std::vector<Saved> saved_;
  Index column_;        // being emitted, of those that a task has side by side; or its row's start
  int64_t row_size_ = 1;
  int64_t pitch_ = 1;   // columns that are saved beside each other
  int64_t width_ = 1;   // vectors of columns
  int64_t strip_rows_ = 1;  // one after another before the next block of a strip
  std::optional<ThinRows> turned_;
  std::vector<BufferId> turned_inputs_, turned_outputs_;  // what lies in a block as columns
  bool repeatable_ = false;
  bool in_order_ = false;  // an accumulator meets the places of a dimension from its first on
  bool streaming_ = false;
  bool asked_ = false;  // what is being emitted is for sums that met subnormal numbers, or did not
};

}  // namespace tercel::kernel
