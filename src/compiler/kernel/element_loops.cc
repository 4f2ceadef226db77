#include "compiler/kernel/element_loops.h"

#include <algorithm>
#include <bit>
#include <utility>

namespace tercel::kernel {
namespace {

// The vectorised loop is that of the last of `groups`; each of its indices stands for `elements`, and
// it advances by `step`.
TaskShape chooseTasks(const LoopPlan& plan, size_t groups, int64_t elements, int64_t step) {
  TaskShape shape;
  if (groups == 0) return shape;
  int64_t inner = plan.groupExtent(groups - 1);
  int64_t work = inner * elements;
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
  if (shape.inner_groups == 1 && inner * elements > 2 * kTaskElements) {
    shape.block = std::max(step, (kTaskElements / elements + step - 1) / step * step);
    shape.blocks = (inner + shape.block - 1) / shape.block;
  }
  return shape;
}

}  // namespace

ElementLoops::ElementLoops(Lowering& low, Piece piece, bool is_whole, const Evaluate& evaluate)
    : low_(low), piece_(std::move(piece)), is_whole_(is_whole), b_(low.builder), space_(b_) {
  evaluate_ = [this, &evaluate](Emitter& e, const Indices& at) {
    Indices domain;
    for (size_t d = 0; d < at.size(); ++d)
      domain.push_back(e.space().add(at[d], piece_.start[d]));
    evaluate(e, domain);
  };
  plan_ = planLoops(low_, piece_.extents, evaluate_);
  loops_ = plan_.groups.size();
  if (loops_ > 0) chooseVectors();
  tasks_ = chooseTasks(plan_, loops_, short_.length * workOfElement(), step_);
}

void ElementLoops::emitTask(V task) {
  std::vector<Index> groups;
  Index t = space_.loop(task, tasks_.count());
  Index block = space_.remainder(t, tasks_.blocks);
  Dims outer(tasks_.outer.begin(), tasks_.outer.end());
  for (const Index& i : space_.delinear(space_.quotient(t, tasks_.blocks), outer))
    groups.push_back(asLoop(i, outer[groups.size()]));
  if (tasks_.inner_groups == 0) return emitBody(groups, {});
  emitInner(groups, block);
}

// All of the piece, within a task.
void ElementLoops::emitAll() {
  tasks_ = {.inner_groups = loops_, .block = loops_ > 0 ? plan_.groupExtent(loops_ - 1) : 0};
  if (loops_ == 0) return emitBody({}, {});
  emitInner({}, Index(0));
}

// Whether vectors of any type are loaded, stored or repeated as they are.
bool ElementLoops::movesLines() const {
  return low_.movesBits() && std::ranges::all_of(plan_.strides, [](const auto& strides) {
    return !strides.empty() && strides.back() >= 0 && strides.back() <= 1;
  });
}

// In elements of plain work: more where each is a sum.
int64_t ElementLoops::workOfElement() const {
  constexpr double kStepsOfElement = 4;
  double work = 1;
  for (ir::OpId id : low_.cluster.ops)
    work = std::max(work, stepsPerElement(low_.module, low_.module.op(id)) / kStepsOfElement);
  return static_cast<int64_t>(std::min<double>(work, kTaskElements));
}

// Of what the vectors hold: not of the starts of slices.
int ElementLoops::widest() const {
  int64_t bytes = 1;
  for (size_t a = 0; a < plan_.accesses.size(); ++a) {
    const auto& strides = plan_.strides[a];
    const bool is_start = !strides.empty() && strides.back() == 0;
    if (!is_start) bytes = std::max(bytes, plan_.accesses[a].element_bytes);
  }
  return static_cast<int>(bytes);
}

void ElementLoops::chooseVectors() {
  constexpr int kFewestLanes = 8;
  const int most = movesLines() ? low_.machine.vector_bytes / widest()
                                : vectorLanes(low_.module, low_.cluster, low_.machine);
  for (lanes_ = most; lanes_ >= kFewestLanes; lanes_ /= 2)
    if (chooseShortRows()) return goOverRows();
  lanes_ = most;
  if (chooseAllRows()) return goOverRows();
  const int64_t extent = plan_.groupExtent(loops_ - 1);
  while (lanes_ > 1 && lanes_ / 2 >= extent) lanes_ /= 2;
  constexpr int64_t kFewOps = 16;  // made twice sooner than the next row waits for a masked store
  const bool is_short = 8 * extent <= 7 * lanes_ || opsWithin(1) <= kFewOps;
  const bool in_two = overlapsLast() || (is_short && writesWhatItReads());
  if (lanes_ > extent && in_two) lanes_ /= 2;
  if (splitsFarLines() && !streams()) lanes_ /= 2;
  step_ = lanes_;
}

// Whether vectors of whole cache lines that begin within a line are read of arrays that no near cache
// holds, and little is computed of them: vectors of half a line cross from one to the next half as
// often.
bool ElementLoops::splitsFarLines() const {
  constexpr int64_t kFewestSplit = 3;
  constexpr double kLittle = 0.6;  // nanoseconds of an element
  if (lanes_ * widest() != kLineBytes || low_.cluster.nest != Nest::loop) return false;
  double cost = 0;
  for (ir::OpId id : low_.cluster.ops) cost += elementCost(low_.module, low_.module.op(id));
  if (cost > kLittle) return false;
  int64_t split = 0;
  for (size_t a = 0; a < plan_.accesses.size(); ++a) split += splitsFarLines(a);
  return split >= kFewestSplit;
}

// Elements of the innermost loop of a loop nest, or none.
int64_t ElementLoops::run() const {
  if (low_.cluster.nest != Nest::loop || loops_ == 0) return 0;
  return plan_.groupExtent(loops_ - 1) * short_.length;
}

bool ElementLoops::streams() const {
  return is_whole_ && run() > 0 && streamsOnce(low_, lanes_, run());
}

// Whether what lies a few vectors behind one is almost always read soon.
bool ElementLoops::runsLong() const { return run() >= 8 * kVectorsAhead * lanes_; }

bool ElementLoops::splitsFarLines(size_t access) const {
  constexpr int64_t kFar = 6 << 20;  // bytes
  const Access& a = plan_.accesses[access];
  const auto& strides = plan_.strides[access];
  if (a.is_store || strides.empty() || strides.back() != 1) return false;
  const bool is_slice = a.slice_of >= 0;  // kernels serve slices from any place on
  const auto input = static_cast<size_t>(is_slice ? a.slice_of : a.param);
  const auto& inputs = low_.cluster.inputs;
  if (input >= inputs.size() || low_.module.shape(inputs[input]).bytes() < kFar) return false;
  auto isWithin = [&](int64_t places) { return places % lanes_ != 0; };
  return is_slice || isWithin(a.index.constant) ||
         std::any_of(strides.begin(), strides.end() - 1, isWithin);
}

void ElementLoops::goOverRows() {
  loops_ -= short_.extents.size();
  step_ = short_.rows;
  lane_ = space_.loop(b_.index(0), lanes_, true);
}

// Whether a row's last vector ends with the row. The lanes of short rows, which lie in any order,
// are not better left out.
bool ElementLoops::overlapsLast() const {
  if (low_.cluster.nest != Nest::loop) return false;
  return goesOverRows() ? low_.mayStoreAgain() : storesOver(low_);
}

// Whether vectors of several rows may be made in the memory of an input.
bool ElementLoops::writesWhatItReads() const {
  const Cluster& c = low_.cluster;
  const bool goes_on = c.nest == Nest::loop || c.nest == Nest::update;
  if (!goes_on || goesOverRows() || loops_ < 2 || lanes_ == 1) return false;
  auto isPlain = [&](ir::Value v) {
    const DType dtype = low_.module.shape(v).dtype;
    return !isPred(dtype) && !isSmall(dtype);
  };
  return !low_.mayStoreAgain() && std::ranges::all_of(c.outputs, isPlain);
}

// One value for a task's index, so that what follows sees a plain variable.
Index ElementLoops::asLoop(const Index& i, int64_t extent) {
  return i.isConstant() ? i : space_.loop(space_.emitScalar(i), extent);
}

void ElementLoops::emitInner(std::vector<Index> groups, const Index& block) {
  if (groups.size() + 1 < loops_) {
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

// The access of a store whose rows begin with less than a vector, so that the vectors after it are
// stored within lines of the cache: an update's, or that of several arrays which are made side by
// side, whose lines would be stored in two halves each that do not follow each other.
std::optional<size_t> ElementLoops::storeToAlign() const {
  constexpr int64_t kFewestVectors = 8;
  if (!low_.machine.hasMasks() || goesOverRows() || tasks_.blocks > 1 ||
      plan_.groupExtent(loops_ - 1) < kFewestVectors * step_)
    return {};
  auto isStore = [](const Access& a) { return a.is_store; };
  const auto stores = std::ranges::count_if(plan_.accesses, isStore);
  const bool alone = low_.cluster.nest == Nest::update && stores == 1;
  if (!alone && !(stores > 1 && storesSideBySide())) return {};
  const auto store = std::ranges::find_if(plan_.accesses, isStore);
  const auto at = static_cast<size_t>(store - plan_.accesses.begin());
  const auto& strides = plan_.strides[at];
  const bool known = std::ranges::none_of(store->index.terms, [&](const Term& t) {
    return t.atom >= plan_.loops.size() && t.factor % step_ != 0;
  });
  const bool whole = step_ * store->element_bytes == low_.machine.vector_bytes;
  if (!known || !whole || strides.empty() || strides.back() != 1) return {};
  return at;
}

// Whether all stores go to one place each, of rows that begin anywhere within lines, and to other
// memory than what is read.
bool ElementLoops::storesSideBySide() const {
  const Cluster& c = low_.cluster;
  auto isNone = [](int32_t input) { return input < 0; };
  if (c.nest != Nest::loop || loops_ < 2 || !std::ranges::all_of(c.alias, isNone) ||
      !std::ranges::all_of(c.may_alias, isNone))
    return false;
  const std::vector<int64_t>* first = nullptr;
  for (size_t a = 0; a < plan_.accesses.size(); ++a) {
    const Access& access = plan_.accesses[a];
    if (!access.is_store) continue;
    if (!first) first = &plan_.strides[a];
    if (plan_.strides[a] != *first || access.index.constant % step_ != 0) return false;
  }
  return !first->empty() && std::any_of(first->begin(), first->end() - 1,
                                        [&](int64_t stride) { return stride % step_ != 0; });
}

// What a vector that begins within the row's first line has of the row. The elements it has stored.
V ElementLoops::emitHead(const std::vector<Index>& groups, int64_t extent, size_t store) {
  Index first(plan_.accesses[store].index.constant);
  for (size_t g = 0; g < groups.size(); ++g)
    first = space_.add(first, space_.scale(groups[g], plan_.strides[store][g]));
  const V before = space_.emitScalar(space_.remainder(first, step_));
  const V at = b_.isub(b_.index(0), before);
  ifAny(before, [&] {
    const V others = firstLanes(b_, lanes_, before).lanes;
    const V lanes = b_.binary(Opcode::xor_, others, b_.constant(b_.type(others), 1));
    emitBody(vectorAt(groups, at, extent, true, 0), {lanes, {}});
  });
  return b_.binary(Opcode::and_, at, b_.index(step_ - 1));
}

// A vector of none is left out: a masked store of it would take long.
void ElementLoops::ifAny(V count, const std::function<void()>& emit) {
  uint64_t known = 0;
  if (!b_.isConstant(count, &known))
    b_.ifThen(b_.compare(Opcode::icmp, Predicate::ne, count, b_.index(0)), emit);
  else if (known > 0)
    emit();
}

void ElementLoops::emitVectorLoop(const std::vector<Index>& groups, const Index& block) {
  int64_t extent = plan_.groupExtent(loops_ - 1);
  if (const auto store = storeToAlign())
    return emitFromTo(groups, emitHead(groups, extent, *store), b_.index(extent), extent);
  if (tasks_.blocks == 1) {
    int64_t whole = extent / step_ * step_;
    if (0 < whole && whole < extent && writesWhatItReads())
      return emitWithoutMasks(groups, whole, extent);
    emitVectors(groups, b_.index(0), b_.index(whole), extent);
    if (whole == extent) return;
    if (whole > 0 && overlapsLast())
      return emitVectors(groups, b_.index(extent - step_), b_.index(extent), extent);
    return emitTail(groups, b_.index(whole), b_.index(extent - whole), extent);
  }
  V lo = b_.imul(space_.emitScalar(block), b_.index(tasks_.block));
  V hi = b_.binary(Opcode::smin, b_.iadd(lo, b_.index(tasks_.block)), b_.index(extent));
  if (extent % step_ == 0) return emitVectors(groups, lo, hi, extent);
  emitFromTo(groups, lo, hi, extent);
}

// A store of part of a vector would hold up the loads of the next row: the last vector has half of
// the lanes, or a quarter, or is a whole one, made before the others, of what they have not changed
// yet, and stored after them.
void ElementLoops::emitWithoutMasks(const std::vector<Index>& groups, int64_t whole,
                                    int64_t extent) {
  const int64_t rest = extent - whole;
  if (std::has_single_bit(static_cast<uint64_t>(rest))) {
    emitVectors(groups, b_.index(0), b_.index(whole), extent);
    const int lanes = std::exchange(lanes_, static_cast<int>(rest));
    emitBody(vectorAt(groups, b_.index(whole), extent, rest > 1, 0), {});
    lanes_ = lanes;
    return;
  }
  const V last = b_.index(extent - step_);
  const auto stores =
      b_.withoutStores([&] { emitBody(vectorAt(groups, last, extent, true, 0), {}); });
  emitVectors(groups, b_.index(0), b_.index(whole), extent);
  b_.append(stores);
}

void ElementLoops::emitFromTo(const std::vector<Index>& groups, V lo, V hi, int64_t extent) {
  V size = b_.isub(hi, lo);
  V whole = b_.iadd(lo, b_.binary(Opcode::and_, size, b_.index(-step_)));
  emitVectors(groups, lo, whole, extent);
  V left = b_.isub(hi, whole);
  ifAny(left, [&] { emitTail(groups, whole, left, extent); });
}

void ElementLoops::emitVectors(const std::vector<Index>& groups, V lo, V hi, int64_t extent) {
  if (short_.length == 1 && b_.isMultiple(lo, lanes_))
    return b_.forLoop(lo, hi, lanes_, [&](V i) {
      std::vector<Index> here = groups;
      here.push_back(space_.wholeVectors(i, extent, lanes_));
      emitBody(here, {});
    });
  const int64_t starts = std::max<int64_t>(extent - short_.rows + 1, 2);
  b_.forLoop(lo, hi, step_, [&](V i) {
    const RowValues values = rowValues(groups, i, extent, {});
    for (int64_t v = 0; v < short_.vectors; ++v)
      emitBody(vectorAt(groups, i, starts, lanes_ > 1, v), {}, values, v);
  });
}

void ElementLoops::emitTail(const std::vector<Index>& groups, V at, V count, int64_t extent) {
  const V elements = b_.imul(count, b_.index(short_.length));
  uint64_t known = 0;
  const bool is_known = b_.isConstant(elements, &known);
  const RowValues values = rowValues(groups, at, extent, count);
  for (int64_t v = 0; v < short_.vectors; ++v) {
    const int64_t before = v * lanes_, left = static_cast<int64_t>(known) - before;
    if (is_known && left <= 0) return;
    const bool is_whole = is_known && left >= lanes_;
    emitBody(vectorAt(groups, at, extent, true, v),
             is_whole ? Guard{} : firstLanes(b_, lanes_, b_.isub(elements, b_.index(before))), values,
             v);
  }
}

// The groups' indices of the vector that is `v` vectors beyond i, which is below `extent`.
std::vector<Index> ElementLoops::vectorAt(std::vector<Index> groups, V i, int64_t extent,
                                          bool vector, int64_t v) {
  if (short_.length == 1) {
    groups.push_back(space_.loop(i, extent, vector));
    return groups;
  }
  Index lane = space_.add(lane_, Index(v * lanes_));
  Index row = space_.loop(i, extent);
  groups.push_back(space_.add(row, space_.quotient(lane, short_.length)));
  const Index in_row = space_.remainder(lane, short_.length);
  for (const Index& i : space_.delinear(in_row, short_.extents)) groups.push_back(i);
  return groups;
}

void ElementLoops::emitBody(const std::vector<Index>& groups, Guard guard, const RowValues& values,
                            int64_t v) {
  Emitter e(b_, space_, low_.module, lanes_);
  low_.bindInputs(e);
  for (size_t s = 0; s < values.size(); ++s) e.bindElem(short_.same[s], alongRows(values[s], v));
  e.streaming = streams();
  b_.fetchingAhead(runsLong() ? kVectorsAhead * lanes_ : 0, [&] {
    e.guarded(guard, [&] {
      evaluate_(e, domainIndices(space_, plan_, piece_.extents.size(), groups));
    });
  });
}

}  // namespace tercel::kernel
