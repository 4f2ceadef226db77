// Movement that turns memory: loads lie along one dimension, stores along another. A block of
// square tiles is loaded along the one and turned in registers into scratch memory that stays in
// cache; then its rows are finished along the other, in whole lines wherever these begin.
#include "compiler/kernel/nest_transpose.h"

#include <algorithm>

#include "compiler/kernel/transpose_block.h"
#include "compiler/kernel/transpose_tile.h"
#include "compiler/kernel/turned_input.h"

namespace tercel::kernel {
namespace {

// Bytes of what a task turns, and of it along the input's lines. Memory gives long runs faster;
// what comes from cache, or has few rows, is better off with blocks that stay in the nearest.
struct Block {
  int64_t bytes, line;
};
constexpr Block kInCache{128 << 10, 256}, kFromMemory{384 << 10, 1024};
constexpr int64_t kNearCache = 32 << 10;

constexpr int kMinTile = 4, kMinTileBytes = 32;

class TransposeNest {
 public:
  TransposeNest(Lowering& low)
      : m_(low.module), low_(low), b_(low_.builder), space_(b_),
        dims_(m_.shape(low.cluster.outputs[0]).dims) {}

  // One output, made of one transposed operand and element work on it, before or after: all its uses
  // at one index.
  bool suits() {
    if (low_.cluster.outputs.size() != 1 || low_.cluster.inputs.empty()) return false;
    turned_ = findTurned(low_);
    if (!turned_.transpose.valid()) return false;
    plan_ = planLoops(low_, dims_, [&](Emitter& e, const Indices& i) { probeAll(e, i); });
    if (!findLines()) return false;
    dtype_ = low_.movedAs(m_.shape(turned_.source).dtype);
    held_ = heldAs(storedScalar(dtype_));
    // Twice as many lines as this would not fit in registers.
    tile_ = low_.machine.vector_bytes / static_cast<int>(std::max<int64_t>(2, byteSize(held_)));
    int64_t narrow = std::min(plan_.groupExtent(out_group_), plan_.groupExtent(in_group_));
    while (tile_ > narrow) tile_ /= 2;
    return tile_ >= leastTile();
  }

  void run() {
    chooseTasks();
    lanes_ = low_.movesBits() && !isComplex(dtype_) && !gathers()
                 ? low_.machine.vector_bytes / static_cast<int>(byteSize(held_))
                 : vectorLanes(m_, low_.cluster, low_.machine);
    while (lanes_ > 1 && lanes_ / 2 >= out_.extent) lanes_ /= 2;
    // Where rows end within lines, those are stored in two ways, which takes long.
    const int64_t shortest =
        out_.extent % lanes_ == 0 ? 4 * lanes_ : kShortestStreamed / byteSize(held_);
    streaming_ = out_.size >= shortest && streamsOutputs(low_, lanes_, kLineBytes, kStreamed);
    addScratch();
    low_.forTasks(tasks_, [&](V task) { emitTask(task); });
  }

 private:
  bool gathers() const {
    return std::ranges::any_of(low_.cluster.ops, [&](ir::OpId id) {
      return m_.op(id).kind == ir::OpKind::gather_;
    });
  }

  // What is made of several elements is made in as narrow vectors as tiles have lines.
  int leastTile() const {
    if (source_accesses_ == 1) return kMinTile;
    const auto bytes = static_cast<int>(byteSize(held_));
    return std::max(kMinTile, std::min(kMinTileBytes, low_.machine.vector_bytes) / bytes);
  }

  // The groups that stores lie along, and loads of the source.
  bool findLines() {
    const auto& strides = plan_.strides;
    if (source_accesses_ == 0 || std::ranges::any_of(strides, [](const auto& s) { return s.empty(); }))
      return false;
    for (size_t g = 0; g < plan_.groups.size(); ++g)
      if (strides.back()[g] == 1 && plan_.groupExtent(g) > 1) out_group_ = g;
    if (out_group_ == kNoGroup) return false;
    const auto sources = std::span(strides).first(source_accesses_);
    for (const auto& source : sources)
      for (size_t g = 0; g < plan_.groups.size(); ++g)
        if (source[g] == 1 && g != out_group_ && source[out_group_] != 0) in_group_ = g;
    return in_group_ != kNoGroup && std::ranges::all_of(sources, [&](const auto& source) {
      return source[in_group_] == 0 || source[in_group_] == 1;
    });
  }

  static Scalar heldAs(Scalar stored) {
    if (stored == Scalar::f16 || stored == Scalar::bf16) return Scalar::i16;
    return stored == Scalar::i1 ? Scalar::i8 : stored;
  }

  void probeAll(Emitter& e, const Indices& i) {
    // The source's accesses come first, then everything else with it as a number.
    Elem turned = e.at(turned_.source, sourceIndices(e, i));
    source_accesses_ = e.record->size();
    e.bindElem(turned_.turned, turned);
    Elem value = e.at(low_.cluster.outputs[0], i);
    low_.storeOutput(e, 0, e.space().linear(i, dims_), value);
    e.unbind(turned_.turned);
  }

  Indices sourceIndices(Emitter& e, const Indices& i) const {
    const Dims& own = m_.shape(turned_.transpose).dims;
    return turned_.sourceIndices(
        m_, e.space(), own == dims_ ? i : e.space().delinear(e.space().linear(i, dims_), own));
  }

  // A task turns one block. The next task goes on along the same lines of the input.
  void chooseTasks() {
    for (size_t g = 0; g < plan_.groups.size(); ++g) {
      if (g == out_group_ || g == in_group_) continue;
      task_groups_.push_back(g);
      task_extents_.push_back(plan_.groupExtent(g));
    }
    int64_t bytes = byteSize(held_), rows = plan_.groupExtent(out_group_);
    bool far = elementCount(dims_) * bytes >= kStreamed && rows * kInCache.line > kNearCache;
    const Block& block = far ? kFromMemory : kInCache;
    in_ = Side(plan_.groupExtent(in_group_), block.line / bytes);
    out_ = Side(rows, block.bytes / bytes / in_.size / 64 * 64);
    tasks_ = elementCount(task_extents_) * out_.blocks * in_.blocks;
  }

  // Rows of the block lie apart by an odd number of cache lines. A load of a last, partial vector
  // may reach beyond the last row.
  void addScratch() {
    row_ = (out_.size + lanes_ - 1) / lanes_ * lanes_;
    int64_t line = 64 / byteSize(held_);
    if (row_ / line % 2 == 0) row_ += line;
    for (int part = 0; part < (isComplex(dtype_) ? 2 : 1); ++part)
      scratch_.push_back(b_.addScratch(held_, in_.size * row_ + lanes_));
  }

  void emitTask(V task) {
    Index t = space_.loop(task, tasks_);
    Range in = in_.range(b_, space_.emitScalar(space_.remainder(t, in_.blocks)));
    t = space_.quotient(t, in_.blocks);
    Range out = out_.range(b_, space_.emitScalar(space_.remainder(t, out_.blocks)));
    Indices at = space_.delinear(space_.quotient(t, out_.blocks), task_extents_);
    std::vector<Index> groups(plan_.groups.size());
    for (size_t i = 0; i < task_groups_.size(); ++i)
      groups[task_groups_[i]] =
          at[i].isConstant() ? at[i] : space_.loop(space_.emitScalar(at[i]), task_extents_[i]);
    // Long runs along the input's lines are what the hardware prefetches.
    out_.overSteps(b_, out, tile_, [&](V out_at) {
      in_.overSteps(b_, in, tile_, [&](V in_at) { emitTile(groups, in, out, in_at, out_at); });
    });
    b_.forLoop(in.first, in.last, 1, [&](V at_row) { emitRow(groups, in, out, at_row); });
  }

  Indices domainAt(std::vector<Index> groups, const Index& in, const Index& out) {
    groups[in_group_] = in;
    groups[out_group_] = out;
    return domainIndices(space_, plan_, dims_.size(), groups);
  }

  // Whether it is what lies in memory.
  bool isMoved(ir::Value v) const {
    if (std::ranges::find(low_.cluster.inputs, v) != low_.cluster.inputs.end()) return true;
    const ir::Op* op = m_.def(v);
    if (!op) return false;
    switch (op->kind) {
      case ir::OpKind::transpose_: case ir::OpKind::reshape_: case ir::OpKind::slice_:
      case ir::OpKind::reverse_:
        return isMoved(op->operand(0));
      default: return false;
    }
  }

  // Elements are turned as they are in memory, pred as bytes.
  V toHeld(V x) {
    if (b_.type(x).scalar == held_) return x;
    if (b_.type(x).scalar == Scalar::i1) return b_.cast(Opcode::zext, x, held_);
    return b_.cast(Opcode::bitcast, b_.cast(Opcode::fptrunc, x, storedScalar(dtype_)), held_);
  }

  V fromHeld(V x) {
    Scalar stored = storedScalar(dtype_);
    if (stored == Scalar::i1)
      return b_.compare(Opcode::icmp, Predicate::ne, x, b_.integer(b_.type(x), 0));
    if (stored == held_) return x;
    return b_.cast(Opcode::fpext, b_.cast(Opcode::bitcast, x, stored), computedScalar(dtype_));
  }

  void emitTile(const std::vector<Index>& groups, const Range& in, const Range& out, V in_at,
                V out_at) {
    Emitter e(b_, space_, m_, tile_);
    low_.bindInputs(e);
    e.keeps_bits |= !isComplex(dtype_) && isMoved(turned_.source);
    Index in_lanes = space_.loop(b_.iadd(in.base, in_at), in_.extent, true);
    std::vector<std::vector<V>> parts(scratch_.size());
    for (int i = 0; i < tile_; ++i) {
      V place = b_.iadd(b_.iadd(out.base, out_at), b_.index(i));
      Indices at = domainAt(groups, in_lanes, space_.loop(place, out_.extent));
      Elem x = elemWiden(b_, e.at(turned_.source, sourceIndices(e, at)), tile_);
      parts[0].push_back(toHeld(x.re));
      if (x.im.valid()) parts[1].push_back(toHeld(x.im));
    }
    V corner = b_.iadd(b_.imul(in_at, b_.index(row_)), out_at);
    for (size_t p = 0; p < parts.size(); ++p) {
      transposeTile(b_, parts[p]);
      for (int i = 0; i < tile_; ++i)
        b_.store(scratch_[p], corner, parts[p][static_cast<size_t>(i)], i * row_);
    }
  }

  // One row of the block, finished along the output's lines.
  void emitRow(const std::vector<Index>& groups, const Range& in, const Range& out, V row) {
    Index in_index = space_.loop(row, in_.extent);
    auto place = [&] {
      Indices start = domainAt(groups, in_index, space_.loop(out.first, out_.extent));
      return space_.emitScalar(space_.linear(start, dims_));
    };
    bool aligned = out_.extent % lanes_ == 0 && out_.block % lanes_ == 0;
    V row_start = b_.imul(b_.isub(row, in.base), b_.index(row_));
    overRun(b_, out.first, out.last, lanes_, aligned,
            streaming_ ? std::function<V()>(place) : nullptr,
            [&](V at, V count) { emitVector(groups, in_index, row_start, out, at, count); });
  }

  // count: lanes that exist, all where invalid.
  void emitVector(const std::vector<Index>& groups, const Index& in_index, V row_start,
                  const Range& out, V at, V count) {
    Emitter e(b_, space_, m_, lanes_);
    low_.bindInputs(e);
    V place = b_.iadd(row_start, b_.isub(at, out.base));
    auto held = [&](size_t part) { return fromHeld(b_.load(scratch_[part], place, lanes_)); };
    e.bindElem(turned_.turned, {held(0), scratch_.size() > 1 ? held(1) : V{}});
    Guard guard;
    if (count.valid()) guard = firstLanes(b_, lanes_, count);
    e.streaming = streaming_;
    Indices domain = domainAt(groups, in_index, space_.loop(at, out_.extent, true));
    e.guarded(guard, [&] {
      low_.storeOutput(e, 0, space_.linear(domain, dims_), e.at(low_.cluster.outputs[0], domain));
    });
  }

  const ir::Module& m_;
  Lowering& low_;
  int64_t tasks_ = 1;
  Builder& b_;
  IndexSpace space_;
  const Dims& dims_;
  LoopPlan plan_;
  TurnedInput turned_;
  size_t source_accesses_ = 0;
  size_t in_group_ = kNoGroup, out_group_ = kNoGroup;
  std::vector<size_t> task_groups_;
  Dims task_extents_;
  Side in_, out_;
  DType dtype_ = DType::f32;
  Scalar held_ = Scalar::f32;       // of the scratch memory: integers of narrow floats
  std::vector<BufferId> scratch_;  // of a complex number's parts
  int64_t row_ = 0;                // elements from one row of it to the next
  int tile_ = 1, lanes_ = 1;       // of what is turned, of what is stored
  bool streaming_ = false;
};

}  // namespace

bool lowerTransposed(Lowering& low) { return lowerWhereSuited<TransposeNest>(low); }

}  // namespace tercel::kernel
