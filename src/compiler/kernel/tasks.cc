#include "compiler/kernel/tasks.h"

#include <algorithm>
#include <deque>

#include "compiler/kernel/domain_pieces.h"

namespace tercel::kernel {
namespace {

constexpr int64_t kTaskElements = 4096;  // of the innermost loop, for one task

// The outer loops as one range of tasks, and the innermost one cut in blocks.
struct TaskShape {
  std::vector<int64_t> outer;  // extents of the groups that tasks enumerate
  size_t inner_groups = 0;     // groups left to loop over inside a task
  int64_t blocks = 1;          // of the innermost group
  int64_t block = 0;           // its elements
  int64_t count() const { return elementCount(outer) * blocks; }
};

TaskShape chooseTasks(const LoopPlan& plan, int lanes) {
  TaskShape shape;
  size_t groups = plan.groups.size();
  if (groups == 0) return shape;
  int64_t inner = plan.groupExtent(groups - 1);
  int64_t work = inner;
  for (size_t g = 0; g + 1 < groups; ++g) work *= plan.groupExtent(g);
  size_t taken = 0;
  // Take outer loops until a task is small enough to share the work out well.
  while (taken + 1 < groups && work > kTaskElements) {
    int64_t extent = plan.groupExtent(taken++);
    shape.outer.push_back(extent);
    work /= extent;
  }
  shape.inner_groups = groups - taken;
  shape.block = inner;
  if (shape.inner_groups == 1 && inner > 2 * kTaskElements) {
    shape.block = (kTaskElements + lanes - 1) / lanes * lanes;
    shape.blocks = (inner + shape.block - 1) / shape.block;
  }
  return shape;
}

// The loops over one piece of the domain.
class ElementLoops {
 public:
  ElementLoops(Lowering& low, Piece piece, bool is_whole, const Evaluate& evaluate)
      : low_(low), piece_(std::move(piece)), is_whole_(is_whole), b_(low.builder), space_(b_) {
    evaluate_ = [this, &evaluate](Emitter& e, const Indices& at) {
      Indices domain;
      for (size_t d = 0; d < at.size(); ++d)
        domain.push_back(e.space().add(at[d], piece_.start[d]));
      evaluate(e, domain);
    };
    plan_ = planLoops(low_, piece_.extents, evaluate_);
    size_t groups = plan_.groups.size();
    lanes_ = groups == 0 ? 1 : chooseLanes(plan_.groupExtent(groups - 1));
    tasks_ = chooseTasks(plan_, lanes_);
  }
  ElementLoops(const ElementLoops&) = delete;

  int64_t tasks() const { return tasks_.count(); }

  void emitTask(V task) {
    std::vector<Index> groups;
    Index t = space_.loop(task, tasks_.count());
    Index block = space_.remainder(t, tasks_.blocks);
    Dims outer(tasks_.outer.begin(), tasks_.outer.end());
    for (const Index& i : space_.delinear(space_.quotient(t, tasks_.blocks), outer))
      groups.push_back(asLoop(i, outer[groups.size()]));
    if (tasks_.inner_groups == 0) return emitBody(groups, {});
    emitInner(groups, block);
  }

 private:
  // Whether vectors of any type are loaded, stored or repeated as they are.
  bool movesLines() const {
    return low_.movesBits() && std::ranges::all_of(plan_.strides, [](const auto& strides) {
      return !strides.empty() && strides.back() >= 0 && strides.back() <= 1;
    });
  }

  int widest() const {
    int64_t bytes = 1;
    for (const Access& access : plan_.accesses) bytes = std::max(bytes, access.element_bytes);
    return static_cast<int>(bytes);
  }

  int chooseLanes(int64_t extent) const {
    int lanes = movesLines() ? low_.machine.vector_bytes / widest()
                             : vectorLanes(low_.module, low_.cluster, low_.machine);
    while (lanes > 1 && lanes / 2 >= extent) lanes /= 2;
    return lanes;
  }

  // One value for a task's index, so that what follows sees a plain variable.
  Index asLoop(const Index& i, int64_t extent) {
    return i.isConstant() ? i : space_.loop(space_.emitScalar(i), extent);
  }

  void emitInner(std::vector<Index> groups, const Index& block) {
    if (groups.size() + 1 < plan_.groups.size()) {
      int64_t extent = plan_.groupExtent(groups.size());
      b_.forLoop(b_.index(0), b_.index(extent), 1, [&](V i) {
        std::vector<Index> inner = groups;
        inner.push_back(space_.loop(i, extent));
        emitInner(inner, block);
      });
      return;
    }
    emitVectorLoop(groups, block);
  }

  void emitVectorLoop(const std::vector<Index>& groups, const Index& block) {
    int64_t extent = plan_.groupExtent(plan_.groups.size() - 1);
    if (tasks_.blocks == 1) {
      int64_t whole = extent / lanes_ * lanes_;
      emitVectors(groups, b_.index(0), b_.index(whole), extent);
      if (whole < extent) emitTail(groups, b_.index(whole), b_.index(extent - whole), extent);
      return;
    }
    V lo = b_.imul(space_.emitScalar(block), b_.index(tasks_.block));
    V hi = b_.binary(Opcode::smin, b_.iadd(lo, b_.index(tasks_.block)), b_.index(extent));
    if (extent % lanes_ == 0) return emitVectors(groups, lo, hi, extent);
    V size = b_.isub(hi, lo);
    V whole = b_.iadd(lo, b_.binary(Opcode::and_, size, b_.index(-lanes_)));
    emitVectors(groups, lo, whole, extent);
    V rest = b_.isub(hi, whole);
    b_.ifThen(b_.compare(Opcode::icmp, Predicate::ne, rest, b_.index(0)),
              [&] { emitTail(groups, whole, rest, extent); });
  }

  void emitVectors(const std::vector<Index>& groups, V lo, V hi, int64_t extent) {
    b_.forLoop(lo, hi, lanes_, [&](V i) {
      std::vector<Index> all = groups;
      all.push_back(space_.loop(i, std::max<int64_t>(extent, 2), lanes_ > 1));
      emitBody(all, {});
    });
  }

  void emitTail(const std::vector<Index>& groups, V at, V count, int64_t extent) {
    std::vector<Index> all = groups;
    all.push_back(space_.loop(at, extent, true));
    emitBody(all, firstLanes(b_, lanes_, count));
  }

  void emitBody(const std::vector<Index>& groups, Guard guard) {
    Emitter e(b_, space_, low_.module, lanes_);
    low_.bindInputs(e);
    e.streaming = is_whole_ && low_.cluster.nest == Nest::loop && !plan_.groups.empty() &&
                  streamsOutputs(low_, lanes_, plan_.groupExtent(plan_.groups.size() - 1));
    e.guarded(guard, [&] {
      evaluate_(e, domainIndices(space_, plan_, piece_.extents.size(), groups));
    });
  }

  Lowering& low_;
  Piece piece_;
  bool is_whole_;
  Evaluate evaluate_;
  Builder& b_;
  IndexSpace space_;
  LoopPlan plan_;
  TaskShape tasks_;
  int lanes_ = 1;
};

}  // namespace

void emitElementLoops(Lowering& low, const Dims& domain, const Evaluate& evaluate) {
  std::vector<Piece> pieces = cutDomain(low, domain, evaluate);
  std::deque<ElementLoops> loops;
  int64_t count = 0;
  for (Piece& piece : pieces) {
    loops.emplace_back(low, std::move(piece), pieces.size() == 1, evaluate);
    count += loops.back().tasks();
  }
  if (loops.size() == 1) return low.forTasks(count, [&](V task) { loops[0].emitTask(task); });
  Builder& b = low.builder;
  low.forTasks(count, [&](V task) {
    int64_t first = 0;
    for (ElementLoops& piece : loops) {
      V own = b.isub(task, b.index(first));
      V is_own = b.compare(Opcode::icmp, Predicate::ult, own, b.index(piece.tasks()));
      b.ifThen(is_own, [&] { piece.emitTask(own); });
      first += piece.tasks();
    }
  });
}

}  // namespace tercel::kernel
