// Movement that turns memory: loads lie along one dimension, stores along another. A block of
// square tiles is loaded along the one and turned in registers into scratch memory that stays in
// cache; then its rows are finished along the other, in whole lines wherever these begin.
#include "compiler/kernel/nest_transpose.h"

#include <algorithm>

#include "compiler/kernel/transpose_tile.h"

namespace tercel::kernel {
namespace {

constexpr size_t kNone = ~size_t{0};

// Bytes of what a task turns, and of it along the input's lines. Memory gives long runs faster;
// what comes from cache, or has few rows, is better off with blocks that stay in the nearest.
struct Block {
  int64_t bytes, line;
};
constexpr Block kInCache{128 << 10, 256}, kFromMemory{384 << 10, 1024};
constexpr int64_t kNearCache = 32 << 10;

constexpr int64_t kMinTile = 4;
// Bytes of an output whose rows the hardware is too late to fetch before they are overwritten.
constexpr int64_t kStreamed = 4 << 20;

// What a task does of one side: `first` to `last`. Its block is turned from `base` on, which is
// less where the last block would be partial.
struct Range {
  V base, first, last;
};

// A dimension of the turned plane, cut in blocks.
struct Side {
  int64_t extent = 1, block = 1, blocks = 1;
  int64_t size = 1;  // of what is turned at a time

  Side() = default;
  Side(int64_t extent, int64_t block)
      : extent(extent), block(block), blocks((extent + block - 1) / block),
        size(std::min(block, extent)) {}

  Range range(Builder& b, V number) const {
    V first = b.imul(number, b.index(block));
    if (extent % block == 0) return {first, first, b.iadd(first, b.index(block))};
    V last = b.binary(Opcode::smin, b.iadd(first, b.index(block)), b.index(extent));
    return {b.binary(Opcode::smin, first, b.index(extent - size)), first, last};
  }
};

class TransposeNest {
 public:
  TransposeNest(Lowering& low)
      : m_(low.module), low_(low), b_(low_.builder), space_(b_),
        dims_(m_.shape(low.cluster.outputs[0]).dims) {}

  // One output, made of one transposed operand and element work on it: all its uses at one index.
  bool suits() {
    if (low_.cluster.outputs.size() != 1 || low_.cluster.inputs.empty()) return false;
    if (!findTransposed()) return false;
    plan_ = planLoops(low_, dims_, [&](Emitter& e, const Indices& i) { probeAll(e, i); });
    if (!single_ || plan_.accesses.size() < 2) return false;
    size_t store = plan_.accesses.size() - 1;
    if (plan_.strides[store].empty()) return false;
    for (size_t g = 0; g < plan_.groups.size(); ++g)
      if (plan_.strides[store][g] == 1 && plan_.groupExtent(g) > 1) out_group_ = g;
    for (size_t a = 0; a < store; ++a) {
      if (plan_.strides[a].empty()) return false;
      for (size_t g = 0; g < plan_.groups.size(); ++g)
        if (plan_.strides[a][g] == 1 && g != out_group_ && plan_.strides[a][out_group_] != 0 &&
            a == turned_access_)
          in_group_ = g;
    }
    if (in_group_ == kNone || out_group_ == kNone) return false;
    dtype_ = low_.movedAs(m_.shape(transpose_).dtype);
    held_ = heldAs(storedScalar(dtype_));
    // Twice as many lines as this would not fit in registers.
    tile_ = low_.machine.vector_bytes / static_cast<int>(std::max<int64_t>(2, byteSize(held_)));
    int64_t narrow = std::min(plan_.groupExtent(out_group_), plan_.groupExtent(in_group_));
    while (tile_ > narrow) tile_ /= 2;
    return tile_ >= kMinTile;
  }

  void run() {
    chooseTasks();
    lanes_ = low_.movesBits() && !isComplex(dtype_) && !gathers()
                 ? low_.machine.vector_bytes / static_cast<int>(byteSize(held_))
                 : vectorLanes(m_, low_.cluster, low_.machine);
    while (lanes_ > 1 && lanes_ / 2 >= out_.extent) lanes_ /= 2;
    streaming_ = out_.size >= 4 * lanes_ && streamsOutputs(low_, lanes_, kLineBytes, kStreamed);
    addScratch();
    low_.forTasks(tasks_, [&](V task) { emitTask(task); });
  }

 private:
  bool gathers() const {
    return std::ranges::any_of(low_.cluster.ops, [&](ir::OpId id) {
      return m_.op(id).kind == ir::OpKind::gather_;
    });
  }

  static Scalar heldAs(Scalar stored) {
    if (stored == Scalar::f16 || stored == Scalar::bf16) return Scalar::i16;
    return stored == Scalar::i1 ? Scalar::i8 : stored;
  }

  // The input that a transpose (through movement) reads; it must be the only transposed one.
  bool findTransposed() {
    for (ir::OpId id : low_.cluster.ops) {
      const ir::Op& op = m_.op(id);
      if (op.kind != ir::OpKind::transpose_) continue;
      if (transpose_.valid()) return false;
      transpose_ = op.result();
    }
    return transpose_.valid() && isUsedAtOneIndex();
  }

  // Whether all that is made of it has its elements, in their order.
  bool isUsedAtOneIndex() const {
    std::vector<ir::Value> made{transpose_};
    for (ir::OpId id : low_.cluster.ops) {
      const ir::Op& op = m_.op(id);
      auto is_made = [&](ir::Value v) { return std::ranges::find(made, v) != made.end(); };
      if (std::ranges::none_of(op.operands, is_made)) continue;
      bool in_place = ir::isElementwise(op.kind) || op.kind == ir::OpKind::reshape_;
      if (!in_place || m_.shape(op.result()).elements() != m_.shape(transpose_).elements())
        return false;
      made.push_back(op.result());
    }
    return true;
  }

  void probeAll(Emitter& e, const Indices& i) {
    // The transpose's own access comes first, then everything else with it as a number.
    size_t before = e.record->size();
    Elem turned = e.at(transpose_, transposeIndices(e, i));
    turned_access_ = before;
    single_ = e.record->size() == before + 1;
    e.bindElem(transpose_, turned);
    Elem value = e.at(low_.cluster.outputs[0], i);
    low_.storeOutput(e, 0, e.space().linear(i, dims_), value);
    e.unbind(transpose_);
  }

  Indices transposeIndices(Emitter& e, const Indices& i) const {
    const Dims& own = m_.shape(transpose_).dims;
    return own == dims_ ? i : e.space().delinear(e.space().linear(i, dims_), own);
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
    overTiles(out_, out, [&](V out_at) {
      overTiles(in_, in, [&](V in_at) { emitTile(groups, in, out, in_at, out_at); });
    });
    b_.forLoop(in.first, in.last, 1, [&](V at_row) { emitRow(groups, in, out, at_row); });
  }

  // Places of tiles within a block; the last one overlaps its neighbour rather than be partial.
  void overTiles(const Side& side, const Range& range, const std::function<void(V)>& body) {
    bool whole = side.extent % side.block == 0;
    V first = whole ? b_.index(0) : b_.isub(range.first, range.base);
    b_.forLoop(first, b_.index(side.size), tile_, [&](V at) {
      body(whole && side.size % tile_ == 0
               ? at
               : b_.binary(Opcode::smin, at, b_.index(side.size - tile_)));
    });
  }

  Indices domainAt(std::vector<Index> groups, const Index& in, const Index& out) {
    groups[in_group_] = in;
    groups[out_group_] = out;
    return domainIndices(space_, plan_, dims_.size(), groups);
  }

  // Elements are turned as they are in memory, pred as bytes.
  V toHeld(V x) {
    Scalar stored = storedScalar(dtype_);
    if (stored == Scalar::i1) return b_.cast(Opcode::zext, x, held_);
    if (stored == held_) return x;
    return b_.cast(Opcode::bitcast, b_.cast(Opcode::fptrunc, x, stored), held_);
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
    Index in_lanes = space_.loop(b_.iadd(in.base, in_at), in_.extent, true);
    std::vector<std::vector<V>> parts(scratch_.size());
    for (int i = 0; i < tile_; ++i) {
      V place = b_.iadd(b_.iadd(out.base, out_at), b_.index(i));
      Indices at = domainAt(groups, in_lanes, space_.loop(place, out_.extent));
      Elem x = elemWiden(b_, e.at(transpose_, transposeIndices(e, at)), tile_);
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

  // One row of the block, finished along the output's lines. What goes around the caches does so by
  // whole lines: the row begins with a partial vector that ends where a line begins.
  void emitRow(const std::vector<Index>& groups, const Range& in, const Range& out, V row) {
    V begin = out.first;
    Index in_index = space_.loop(row, in_.extent);
    auto vectorAt = [&](V at, V count) {
      emitVector(groups, in_index, b_.imul(b_.isub(row, in.base), b_.index(row_)), out, at, count);
    };
    bool aligned = out_.extent % lanes_ == 0 && out_.block % lanes_ == 0;
    if (streaming_ && !aligned) {
      Indices start = domainAt(groups, in_index, space_.loop(begin, out_.extent));
      V line = space_.emitScalar(space_.linear(start, dims_));
      V head = b_.binary(Opcode::and_, b_.isub(b_.index(0), line), b_.index(lanes_ - 1));
      head = b_.binary(Opcode::smin, head, b_.isub(out.last, begin));
      b_.ifThen(b_.compare(Opcode::icmp, Predicate::ne, head, b_.index(0)),
                [&] { vectorAt(begin, head); });
      begin = b_.iadd(begin, head);
    }
    V size = b_.isub(out.last, begin);
    V whole = aligned ? out.last
                      : b_.iadd(begin, b_.binary(Opcode::and_, size, b_.index(-lanes_)));
    b_.forLoop(begin, whole, lanes_, [&](V at) { vectorAt(at, V{}); });
    if (aligned) return;
    V rest = b_.isub(out.last, whole);
    b_.ifThen(b_.compare(Opcode::icmp, Predicate::ne, rest, b_.index(0)),
              [&] { vectorAt(whole, rest); });
  }

  // count: lanes that exist, all where invalid.
  void emitVector(const std::vector<Index>& groups, const Index& in_index, V row_start,
                  const Range& out, V at, V count) {
    Emitter e(b_, space_, m_, lanes_);
    low_.bindInputs(e);
    V place = b_.iadd(row_start, b_.isub(at, out.base));
    auto held = [&](size_t part) { return fromHeld(b_.load(scratch_[part], place, lanes_)); };
    e.bindElem(transpose_, {held(0), scratch_.size() > 1 ? held(1) : V{}});
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
  ir::Value transpose_;
  size_t turned_access_ = 0;
  bool single_ = false;
  size_t in_group_ = kNone, out_group_ = kNone;
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

bool lowerTransposed(Lowering& low) {
  TransposeNest nest(low);
  if (!nest.suits()) return false;
  nest.run();
  return true;
}

}  // namespace tercel::kernel
