// dot_general and convolution with their epilogue, by register tiles.
//
// The output's innermost dimension is vectorised: the operand that varies along it (the n side) is
// loaded as vectors, the other one (the m side) as scalars, each used for a whole tile of rows x
// vectors whose sums stay in registers over the loop of k. Panels of the n side, and tiles of the m
// side, are copied to scratch memory first where their own layout would make that loop slow (Goto
// and van de Geijn, "Anatomy of high-performance matrix multiplication"); of long sums a block at a
// time, the tiles' sums being kept in memory from one block to the next.
#pragma once
#include "compiler/kernel/contract_tiling.h"
#include "compiler/kernel/contraction.h"
#include "compiler/kernel/nest.h"

namespace tercel::kernel {

class ContractNest {
 public:
  ContractNest(Lowering& low, const ir::Op& op);

  // False where the plain loop nest is the better one.
  bool suits();
  void run();

 private:
  static constexpr size_t kNone = ~size_t{0};
  using Groups = std::vector<Index>;

  // The rows or columns: a group that tiles are cut of, and others that only this operand has. Each
  // combination of these is a line of rows or columns.
  struct Axis {
    size_t operand = 0, group = kNone;
    std::vector<size_t> outer;
    Dims outer_extents;
    int64_t extent = 1;  // of the group
    int64_t line = 1;    // as far as memory goes on
    int64_t unit = 1;    // tiles start at multiples
    bool lines_inner = false;  // a tile's place in all lines comes before the next place
    int64_t lines() const { return elementCount(outer_extents); }
  };

  // nest_contract.cc: what the loops index.
  bool planTiles(const std::vector<bool>& classes);
  void preferSumAlongMemory();
  bool packsInVain() const;
  void probeAll(Emitter& e, const Indices& domain);
  void probeOperand(Emitter& e, size_t operand, const Indices& domain);
  void findVarying(size_t operand);
  bool classify();
  void addOuter(size_t group);
  void joinShortLines();
  void joinShortColumns();
  void joinLines(Axis& axis);
  ContractSide side(const Axis& axis) const;
  ContractSizes sizes() const;
  bool hasEpilogue() const;
  void addScratch();
  int64_t strideOf(size_t operand, size_t group) const;
  int64_t extent(size_t group) const { return group == kNone ? 1 : plan_.groupExtent(group); }
  // Steps of the sum along a group, and those of them that take a whole word.
  int64_t steps(size_t group) const;
  int64_t wholeSteps(size_t group) const;
  size_t innerSum() const { return k_groups_.empty() ? kNone : k_groups_.back(); }
  std::vector<size_t> outerSums() const;
  // What of the sum is added at once.
  int64_t blockOf(size_t group) const;
  int64_t blockSize() const;
  int64_t panelSize() const { return tiling_.roomFor(blockSize()) * tiling_.panel(); }
  Scalar packedScalar() const { return tiling_.parts > 1 ? Scalar::i32 : sum_; }
  std::pair<V, V> rangeOf(size_t group);
  Index inBlock(size_t group, V i);
  V stepsInBlock();

  // contract_tasks.cc
  void emitTask(V task);
  // Of each tile: all, or what a block adds to its sums in memory, or what becomes of these.
  enum class Part { whole, block, sums };
  struct Tile {
    Groups groups;
    V row;  // its first one's number, in units
    V m_slot, column, n_slot;
    V sums;  // where in memory
    int first = 0;  // of the panel's vectors: those before are in the panel before, too
  };
  int ownVectors(const Tile& tile) const { return tiling_.vectors - tile.first; }
  // Where a tile's sum of this number is among those that memory keeps.
  int64_t keptAt(const Tile& tile, size_t sum) const;
  // The tiles and panels of a task.
  struct Share {
    V tile, tile_end, panel, panel_end;
    V packs_n;  // whether its panels are not packed yet; invalid: they are not
  };
  V isFirstWith(const Index& rows, V task);
  void emitShare(const Groups& groups, const Share& share, Part part);
  void emitBlocks(const Groups& groups, const Share& share);
  void emitTiles(const Groups& groups, V tile, const Share& share, Part part);
  void emitPanels(const Groups& groups, V row, V m_slot, V sums, const Share& share, Part part);
  Groups with(Groups groups, const std::vector<size_t>& list, const Dims& extents,
              const Index& linear);
  std::pair<Groups, V> onLine(const Axis& axis, const Groups& groups, V number, int64_t per_line);
  V startOf(V index, int64_t size, int64_t whole);

  // contract_edges.cc
  bool holds(size_t group, size_t dim) const;
  double zeroShare(const ZeroEdge& edge) const;
  void preferConstantWindows();
  bool skips(const ZeroEdge& edge, size_t group) const;
  bool skipsZeros() const;
  V anyNotFinite(V first, V last);
  std::pair<V, V> withoutZeros(std::pair<V, V> range, size_t group, const Groups& groups);

  // contract_pack.cc
  void packN(const Groups& groups, V first, V last);
  void packLine(Emitter& e, const Groups& groups, V column, V to);
  void packTurned(const Groups& groups, V column, V base);
  V inMemory(V in_panel);
  void turnSquare(const Groups& groups, V column, V k, V to);
  void packRows(const Groups& groups, V row);
  void packM(const Groups& groups, V row);
  void packAcross(const Groups& groups, V row);
  using GroupBody = std::function<void(const Groups&, const Index&)>;
  void overWhole(size_t group, int64_t at_once, const std::function<void(V)>& body);
  void overCut(size_t group, const std::function<void(V)>& body);
  void overGroups(Emitter& e, const std::vector<size_t>& list, size_t at, Groups groups,
                  Index linear, const GroupBody& body);
  Groups with(Groups groups, size_t group, const Index& index) const;

  // contract_words.cc
  int64_t possibleParts() const;
  DType operandType(const Axis& axis) const { return m_.shape(op_.operand(axis.operand)).dtype; }
  bool hasUnsignedParts(const Axis& axis) const;
  bool isBiased() const;
  V partAt(Emitter& e, size_t operand, const Groups& groups);
  V wordAt(Emitter& e, size_t operand, const Groups& groups);
  V wordsAlong(size_t operand, const Groups& groups, V step, int lanes);
  V biased(size_t operand, V word);
  V addProducts(V m, V n, V sum);
  void packWordsM(const Groups& groups, V row);
  void addUpBias(V first, V last);

  // contract_in_tiles.cc
  bool takesSubnormalsAsZeros() const;
  int64_t possibleTileParts() const;
  Opcode tileDot() const;
  void clearRoom(V first, V last);
  void packTurnedM(const Groups& groups, V row);
  void addInTiles(const Tile& tile, Part part);

  // contract_tile.cc
  using Sums = Builder::Values;
  void emitTile(const Tile& tile, Part part);
  bool looksForSubnormals() const;
  Sums bySubnormals(const std::function<Sums()>& sums);
  Sums sumsOf(const Tile& tile);
  V multiplyAdd(Emitter& e, V a, V b, V sum);
  Sums overK(Emitter& e, const Tile& tile, size_t at, Groups groups, Index linear,
             const Sums& sums);
  using Body = std::function<Sums(V, const Sums&)>;
  Sums inRuns(std::pair<V, V> range, int64_t count, int64_t inside, int64_t lanes, const Sums& sums,
              const Body& body);
  Sums inStretches(std::pair<V, V> range, int64_t count, int64_t lanes, const Sums& sums,
                   const Body& body);
  Sums inChains(std::pair<V, V> range, int64_t count, int64_t lanes, const Sums& sums,
                const Body& body);
  Sums oneByOne(std::pair<V, V> range, int64_t lanes, const Sums& sums, const Body& body);
  Sums step(Emitter& e, const Tile& tile, const Groups& groups, const Index& k, const Sums& sums);
  V nVector(Emitter& e, const Tile& tile, const Groups& groups, const Index& k, int v);
  V mScalar(Emitter& e, const Tile& tile, const Groups& groups, const Index& k, int64_t i);
  void storeDirectly(const Tile& tile, const Sums& sums);
  void keepSums(const Tile& tile, const Sums& sums);
  void addToKept(const Tile& tile, const Sums& sums);
  void storeKept(const Tile& tile);
  void storeVector(Emitter& e, const Tile& tile, const Index& row, int v, V sum);

  // contract_along.cc
  void packAlong(Emitter& e, const Groups& groups, V column, V to);
  void packTurnedAlong(const Groups& groups, V column, V base);
  Index columnAt(V column, int64_t j);
  Sums addedUp(const Sums& sums);
  Sums stepAlong(Emitter& e, const Tile& tile, const Groups& groups, const Index& k,
                 const Guard& guard, const Sums& sums);

  // contract_pad.cc
  void storeEdges(V task, int64_t tasks);
  void storeEdges(const ir::Op& pad, const Indices& at);
  void storeEdge(const ir::Op& pad, const Index& first, int64_t count);

  // Elements of the operands.
  Emitter emitter(int lanes);
  V operandAt(Emitter& e, size_t operand, const Groups& groups);
  V operandAs(DType type, Emitter& e, size_t operand, const Groups& groups);
  Index rowIndex(V row);
  Index columnIndex(V column, int v);
  int64_t columnOffset(int v) const;  // of a vector in its panel
  Guard columnGuard();

  const ir::Module& m_;
  Lowering& low_;
  const ir::Op& op_;
  Builder& b_;
  IndexSpace space_;
  Contraction contraction_;
  LoopPlan plan_;
  Dims domain_;      // the output's dimensions, then the sum's
  size_t rank_ = 0;  // of the output
  // Of each operand, in the plan: where slices of it start, then itself; of one that is made of
  // indices none.
  struct Accesses {
    size_t first = 0, last = 0;
  };
  Accesses accesses_[2];
  std::vector<bool> varies_[2];  // each operand along each group
  Axis rows_, columns_;
  bool joins_columns_ = true;
  std::vector<size_t> k_groups_, task_groups_;
  Dims task_extents_;
  int64_t k_ = 1;  // steps
  ContractTiling tiling_;
  Scalar sum_;
  bool in_doubles_ = false;  // f32 is multiplied in f64
  bool staged_ = false;  // sums go through memory to a loop of the epilogue
  V block_first_, block_last_;  // of the outermost dimension of the sum
  std::vector<ZeroEdge> edges_;
  V none_skipped_;  // of the zeros at the edges
  int64_t m_pitch_ = 0;  // of a packed row, or of a tile where packed across
  BufferId n_scratch_ = 0, m_scratch_ = 0, tile_scratch_ = 0, bias_scratch_ = 0;
};

}  // namespace tercel::kernel
