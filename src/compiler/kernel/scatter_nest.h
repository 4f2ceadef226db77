// scatter in place: the outputs' memory holds the operands when the kernel starts. Updates are
// applied in row-major order, each computed where it is; a task does a part of every window, or all
// of some, and tasks that run together do theirs at once.
#pragma once
#include "compiler/kernel/nest.h"

namespace tercel::kernel {

class ScatterNest {
 public:
  explicit ScatterNest(Lowering& low);
  void run();

 private:
  using Body = std::function<void(const Indices&)>;
  using Turn = std::function<void(V)>;
  using LineBody = std::function<void(Emitter&, const Index&, const Guard&)>;
  struct Limit {
    V start, limit;
  };

  // nest_scatter_tasks.cc
  void chooseLanes();
  void chooseRows();
  int64_t blockOfLine() const;
  void emitRows(Emitter& e, V first, V last);

  bool cutsLines() const { return tasks_ > 1 && rows_ < 0; }
  void emitTasks(V first, V last);
  void loops(Emitter& e, std::span<const int64_t> extents, const Indices& outer, const Body& body);
  void inTurns(V first, int64_t count, int64_t at_once, const Turn& turn);
  int64_t turnsAtOnce() const;

  size_t scatterDim(int64_t d) const;
  std::vector<V> windowStart(Emitter& e, const Indices& at);
  Elem indexAt(Emitter& e, const Indices& at, size_t k);
  std::vector<Limit> limitsOf(std::span<const V> start) const;
  void emitWindow(Emitter& e, const Indices& at);
  void whereBelow(std::span<const Limit> limits, const std::function<void()>& body);
  void emitWindowLoops(Emitter& e, const Indices& at, const std::vector<V>& start);
  void alongLine(Emitter& e, const LineBody& body);
  void atEndOfLine(const LineBody& body);
  void ifAtEnd(const std::function<void()>& emit);

  // One element or vector of a window that starts there.
  Index placeOf(const Indices& window, std::span<const V> start);
  std::vector<Elem> load(Emitter& e, const Index& place);
  Elem updateAt(Emitter& e, size_t k, const Indices& at, const Indices& window);
  std::vector<Elem> combined(Emitter& e, const Indices& at, const Indices& window,
                             std::span<const Elem> before);
  std::vector<Elem> rounded(std::vector<Elem> elems);
  void store(Emitter& e, const Index& place, std::span<const Elem> elems);

  // nest_scatter_runs.cc
  bool mayGoInRuns() const;
  void emitInRuns(Emitter& e, const Indices& outer, const Body& window);
  Indices indicesAt(const Indices& outer, V i, bool vector = false);
  V differs(const Indices& outer, V first, int64_t block);
  void emitRun(Emitter& e, const Indices& outer, V first, int64_t block);
  void emitElementRun(Emitter& e, const Indices& outer, V first, int64_t block,
                      std::span<const V> start);

  const ir::Module& m_;
  Lowering& low_;
  const ir::Op& op_;
  Builder& b_;
  IndexSpace space_;
  const size_t count_;         // of operands
  Dims window_, scatter_;
  std::vector<int> window_of_;  // of each of an operand's dimensions: of the window, or -1
  int lanes_ = 1;
  int64_t tasks_ = 1;
  int64_t inner_ = 1;
  int64_t block_ = 1;
  int64_t whole_ = 1;  // elements of a line that are taken in vectors of lanes_
  int64_t rows_ = -1;  // the operand's dimension that is divided among the tasks; -1: lines are
  V begin_, end_, whole_end_;  // of the tasks being emitted, along a line
  V first_row_, row_count_;    // and of rows_
};

}  // namespace tercel::kernel
