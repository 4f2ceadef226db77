// Movement that turns memory: a load lies along one dimension, the store along another. Square tiles
// are loaded along the one, turned in registers, and finished along the other.
#include "compiler/kernel/nest_transpose.h"

#include <algorithm>

#include "compiler/kernel/transpose_tile.h"

namespace tercel::kernel {
namespace {

constexpr size_t kNone = ~size_t{0};
constexpr int64_t kInTiles = 16, kOutTiles = 8;  // of a block

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
    DType dtype = m_.shape(source_).dtype;
    if (isComplex(dtype)) return false;
    lanes_ = low_.machine.vector_bytes / static_cast<int>(std::max<size_t>(4, byteSize(dtype)));
    return plan_.groupExtent(out_group_) >= lanes_ && plan_.groupExtent(in_group_) >= lanes_;
  }

  void run() {
    chooseTasks();
    low_.forTasks(tasks_, [&](V task) { emitTask(task); });
  }

 private:
  // The input that a transpose (through movement) reads; it must be the only transposed one.
  bool findTransposed() {
    for (ir::OpId id : low_.cluster.ops) {
      const ir::Op& op = m_.op(id);
      if (op.kind != ir::OpKind::transpose_) continue;
      if (transpose_.valid()) return false;
      transpose_ = op.result();
    }
    return transpose_.valid();
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
    source_ = transpose_;
  }

  Indices transposeIndices(Emitter& e, const Indices& i) const {
    const Dims& own = m_.shape(transpose_).dims;
    return own == dims_ ? i : e.space().delinear(e.space().linear(i, dims_), own);
  }

  // A tile reads and writes whole cache lines. A task does a block of tiles: neighbours in memory, so
  // that each page is visited few times; the next task goes on along the same lines of the input.
  void chooseTasks() {
    for (size_t g = 0; g < plan_.groups.size(); ++g) {
      if (g == out_group_ || g == in_group_) continue;
      task_groups_.push_back(g);
      task_extents_.push_back(plan_.groupExtent(g));
    }
    out_blocks_ = (plan_.groupExtent(out_group_) + kOutTiles * lanes_ - 1) / (kOutTiles * lanes_);
    in_blocks_ = (plan_.groupExtent(in_group_) + kInTiles * lanes_ - 1) / (kInTiles * lanes_);
    tasks_ = elementCount(task_extents_) * out_blocks_ * in_blocks_;
  }

  void emitTask(V task) {
    Index t = space_.loop(task, tasks_);
    Index in_block = space_.remainder(t, in_blocks_);
    t = space_.quotient(t, in_blocks_);
    Index out_block = space_.remainder(t, out_blocks_);
    Indices at = space_.delinear(space_.quotient(t, out_blocks_), task_extents_);
    std::vector<Index> groups(plan_.groups.size());
    for (size_t i = 0; i < task_groups_.size(); ++i)
      groups[task_groups_[i]] =
          at[i].isConstant() ? at[i] : space_.loop(space_.emitScalar(at[i]), task_extents_[i]);
    // Long runs along the input's lines are what the hardware prefetches.
    overBlock(out_block, kOutTiles, plan_.groupExtent(out_group_), [&](V out_at) {
      overBlock(in_block, kInTiles, plan_.groupExtent(in_group_),
                [&](V in_at) { emitTile(groups, in_at, out_at); });
    });
  }

  void overBlock(const Index& block, int64_t tiles, int64_t extent,
                 const std::function<void(V)>& body) {
    V first = b_.imul(space_.emitScalar(block), b_.index(tiles * lanes_));
    V last = b_.binary(Opcode::smin, b_.iadd(first, b_.index(tiles * lanes_)), b_.index(extent));
    b_.forLoop(first, last, lanes_, body);
  }

  Guard guardFor(V at, int64_t extent) {
    if (extent % lanes_ == 0) return {};
    Type ids{Scalar::i32, static_cast<uint16_t>(lanes_)};
    V left = b_.cast(Opcode::itrunc, b_.isub(b_.index(extent), at), Scalar::i32);
    return {b_.compare(Opcode::icmp, Predicate::slt, b_.laneIds(ids), left), {}};
  }

  Indices domainAt(std::vector<Index> groups, const Index& in, const Index& out) {
    groups[in_group_] = in;
    groups[out_group_] = out;
    return domainIndices(space_, plan_, dims_.size(), groups);
  }

  void emitTile(const std::vector<Index>& groups, V in_at, V out_at) {
    Emitter e(b_, space_, m_, lanes_);
    low_.bindInputs(e);
    e.streaming = streamsOutputs(low_, lanes_, plan_.groupExtent(out_group_));
    int64_t in_extent = plan_.groupExtent(in_group_), out_extent = plan_.groupExtent(out_group_);
    Index in_lanes = space_.loop(in_at, in_extent, true);
    Guard in_guard = guardFor(in_at, in_extent), out_guard = guardFor(out_at, out_extent);
    std::vector<V> lines;
    for (int i = 0; i < lanes_; ++i) {
      V place = b_.iadd(out_at, b_.index(i));
      if (out_extent % lanes_) place = b_.binary(Opcode::smin, place, b_.index(out_extent - 1));
      Indices at = domainAt(groups, in_lanes, space_.loop(place, out_extent));
      lines.push_back(e.guarded(in_guard, [&] {
        return b_.widen(e.at(transpose_, transposeIndices(e, at)).re, lanes_);
      }));
    }
    transposeTile(b_, lines);
    Index out_lanes = space_.loop(out_at, out_extent, true);
    for (int i = 0; i < lanes_; ++i) {
      V place = b_.iadd(in_at, b_.index(i));
      auto write = [&] {
        e.bindElem(transpose_, {lines[static_cast<size_t>(i)], {}});
        Indices at = domainAt(groups, space_.loop(place, in_extent), out_lanes);
        e.guarded(out_guard, [&] {
          low_.storeOutput(e, 0, space_.linear(at, dims_), e.at(low_.cluster.outputs[0], at));
        });
        e.unbind(transpose_);
      };
      if (in_extent % lanes_ == 0) {
        write();
        continue;
      }
      b_.ifThen(b_.compare(Opcode::icmp, Predicate::slt, place, b_.index(in_extent)),
                [&] { e.scope(write); });
    }
  }

  const ir::Module& m_;
  Lowering& low_;
  int64_t tasks_ = 1;
  Builder& b_;
  IndexSpace space_;
  const Dims& dims_;
  LoopPlan plan_;
  ir::Value transpose_, source_;
  size_t turned_access_ = 0;
  bool single_ = false;
  size_t in_group_ = kNone, out_group_ = kNone;
  std::vector<size_t> task_groups_;
  Dims task_extents_;
  int64_t out_blocks_ = 1, in_blocks_ = 1;
  int lanes_ = 1;
};

}  // namespace

bool lowerTransposed(Lowering& low) {
  TransposeNest nest(low);
  if (!nest.suits()) return false;
  nest.run();
  return true;
}

}  // namespace tercel::kernel
