#include "compiler/kernel/lane_plan.h"

#include <algorithm>

namespace tercel::kernel {

std::vector<Elem> elemLoop(Emitter& e, V lo, V hi, int64_t step, std::vector<Elem> carried,
                           const Step& body) {
  auto last = e.builder().forLoop(lo, hi, step, flatten(carried), [&](V i, std::span<const V> now) {
    return flatten(e.scope([&] { return body(i, unflatten(now, carried)); }));
  });
  return unflatten(last, carried);
}

std::vector<Elem> elemLoop(Emitter& e, int64_t lo, int64_t hi, int64_t step,
                           std::vector<Elem> carried, const Step& body) {
  if (lo >= hi) return carried;
  return elemLoop(e, e.builder().index(lo), e.builder().index(hi), step, std::move(carried), body);
}

void LanePlan::choose(const Dims& domain, const std::vector<bool>& walked,
                      const Evaluate& evaluate, bool in_order) {
  walked_ = walked;
  loops_ = planLoops(low_, domain, evaluate, walked);
  if (empty()) return;
  lanes_ = vectorLanes(low_.module, low_.cluster, low_.machine);
  chooseVector();
  if (in_order && isWalked(vector_)) vector_ = walkedGroups().back();
  while (lanes_ > 1 && lanes_ / 2 >= vectorExtent()) lanes_ /= 2;
  rows_ = isWalked(vector_);
}

// The loop along which most memory is contiguous, and which fills most of a vector.
void LanePlan::chooseVector() {
  std::vector<int64_t> score(loops_.groups.size(), 0);
  for (size_t a = 0; a < loops_.accesses.size(); ++a)
    for (size_t g = 0; g < loops_.strides[a].size(); ++g)
      if (std::abs(loops_.strides[a][g]) == 1)
        score[g] += loops_.accesses[a].element_bytes * spread(a);
  for (size_t g = 0; g < score.size(); ++g)
    score[g] = gathersNarrow(g) ? 0 : score[g] * std::min<int64_t>(lanes_, loops_.groupExtent(g));
  vector_ = loops_.groups.size() - 1;
  for (size_t g = loops_.groups.size(); g-- > 0;)
    if (score[g] > score[vector_]) vector_ = g;
}

// Whether lanes along columns would read elements further apart than `near`, along each row, that no
// machine gathers.
bool LanePlan::gathersNarrow(size_t g, int64_t near) const {
  constexpr int64_t kGathered = 4;
  if (isWalked(g)) return false;
  for (size_t a = 0; a < loops_.accesses.size(); ++a) {
    const auto& strides = loops_.strides[a];
    if (loops_.accesses[a].is_store || loops_.accesses[a].element_bytes >= kGathered ||
        strides.empty() || std::abs(strides[g]) <= near)
      continue;
    for (size_t walked : walkedGroups())
      if (strides[walked] != 0) return true;
  }
  return false;
}

// Where rows have no more elements than that: one element of each of as many rows as there are lanes
// is gathered instead.
bool LanePlan::avoidRowsUpTo(int64_t longest) {
  constexpr int64_t kBridged = 16;  // by loads and shuffles
  if (empty() || !rows_ || rowSize() > longest) return false;
  int lanes = vectorLanes(low_.module, low_.cluster, low_.machine);
  for (size_t g = loops_.groups.size(); g-- > 0;) {
    if (isWalked(g) || loops_.groupExtent(g) < 2 * lanes) continue;
    if (gathersNarrow(g, kBridged)) return false;
    vector_ = g;
    lanes_ = lanes;
    rows_ = false;
    return true;
  }
  return false;
}

bool LanePlan::blockRowsUpTo(int64_t longest) {
  if (empty() || !rows_ || lanes_ < 4 || rowSize() > longest) return false;
  for (size_t g = loops_.groups.size(); g-- > 0;) {
    if (isWalked(g) || loops_.groupExtent(g) < 2 * lanes_) continue;
    row_group_ = g;
    block_rows_ = lanes_;
    return true;
  }
  return false;
}

// Narrow ones change places slowly in long vectors.
int LanePlan::fourByteLanes() const {
  constexpr int kFewestBytes = 4;
  return std::min(low_.machine.vector_bytes / kFewestBytes,
                  vectorLanes(low_.module, low_.cluster, low_.machine));
}

bool LanePlan::fillWithRows() {
  if (empty() || walkedGroups().size() != 1) return false;
  const size_t along = walkedGroups()[0];
  const int lanes = vectorLanes(low_.module, low_.cluster, low_.machine);
  const int64_t row_size = loops_.groupExtent(along);
  if (lanes > fourByteLanes() || row_size < 4 || row_size >= lanes || lanes % row_size != 0)
    return false;
  size_t row = loops_.groups.size();
  while (row > 0 && isWalked(row - 1)) --row;
  if (row-- == 0) return false;
  const int64_t rows = loops_.groupExtent(row);
  if (rows < lanes || (rows % lanes != 0 && !low_.mayStoreAgain())) return false;
  for (size_t a = 0; a < loops_.accesses.size(); ++a)
    if (!loops_.accesses[a].is_store && !isInOrder(a, row, along) && !isRepeated(a, row, along))
      return false;
  vector_ = along;
  rows_ = true;
  lanes_ = lanes;
  row_group_ = row;
  block_rows_ = lanes;
  overlapLast();
  return true;
}

int64_t LanePlan::packRows() {
  constexpr int64_t kVectorsOfBlock = 32;
  if (empty() || !rows_ || vector_ == 0 || walkedGroups().size() != 1) return 0;
  const size_t row = vector_ - 1;
  const int lanes = fourByteLanes();
  const int64_t packed = lanes / vectorExtent();
  const bool needs_mask = lanes % vectorExtent() != 0 && storesOver(low_);
  if (packed < (needs_mask ? 1 : 2) || loops_.groupExtent(row) < 2 * packed) return 0;
  for (size_t a = 0; a < loops_.accesses.size(); ++a)
    if (!isInOrder(a, row, vector_)) return 0;
  lanes_ = lanes;
  row_group_ = row;
  block_rows_ = kVectorsOfBlock * packed;
  return packed;
}

// Whether rows follow each other, or one element is read for all.
bool LanePlan::isInOrder(size_t access, size_t row, size_t along) const {
  const auto& strides = loops_.strides[access];
  if (strides.empty()) return false;
  if (strides[along] == 0 && strides[row] == 0) return !loops_.accesses[access].is_store;
  return strides[along] == 1 && strides[row] == loops_.groupExtent(along);
}

// Whether one row is read for all, or one element for each.
bool LanePlan::isRepeated(size_t access, size_t row, size_t along) const {
  const auto& strides = loops_.strides[access];
  if (strides.empty()) return false;
  const bool is_row = strides[row] == 0 && strides[along] == 1;
  return is_row || (strides[row] == 1 && strides[along] == 0);
}

int64_t LanePlan::rowSize() const {
  int64_t row = 1;
  for (size_t g = 0; g < loops_.groups.size(); ++g)
    if (isWalked(g)) row *= loops_.groupExtent(g);
  return row;
}

// How many dimensions an access moves along: a whole operand outweighs a row's scale. Places that
// are found out may be others for each element.
int64_t LanePlan::spread(size_t access) const {
  int64_t count = 0;
  if (loops_.accesses[access].places_vary) count = static_cast<int64_t>(loops_.groups.size()) - 1;
  for (int64_t s : loops_.strides[access]) count += s != 0;
  return count * count;
}

Index LanePlan::vectorIndex(V at, int64_t offset) {
  int64_t extent = std::max<int64_t>(2, vectorExtent() - offset);
  return space_.add(space_.loop(at, extent, lanes_ > 1), Index(offset));
}

std::vector<size_t> LanePlan::walkedGroups() const {
  std::vector<size_t> walked;
  for (size_t g = 0; g < loops_.groups.size(); ++g)
    if (isWalked(g)) walked.push_back(g);
  return walked;
}

bool LanePlan::streams() const {
  return !empty() && vector_ + 1 == loops_.groups.size() &&
         streamsOnce(low_, lanes_, vectorExtent());
}

void LanePlan::forTasks(int64_t width, const Body& body) {
  for (size_t g = 0; g < loops_.groups.size(); ++g) {
    if (isWalked(g) || (!rows_ && g == vector_) || g == row_group_) continue;
    task_groups_.push_back(g);
    task_extents_.push_back(loops_.groupExtent(g));
  }
  if (!rows_) {
    int64_t vectors = (vectorExtent() + lanes_ - 1) / lanes_;
    width_ = static_cast<int>(std::min(vectors, width));
    blocks_ = (vectors + width_ - 1) / width_;
  }
  if (blocks()) blocks_ = (loops_.groupExtent(row_group_) + block_rows_ - 1) / block_rows_;
  tasks_ = elementCount(task_extents_) * stripCount();
  low_.forTasks(tasks_, [&](V task) { emitTask(task, body); });
}

void LanePlan::emitTask(V task, const Body& body) {
  std::vector<Index> groups(loops_.groups.size());
  Index t = space_.loop(task, tasks_);
  Index block = space_.remainder(t, stripCount());
  Indices outer = space_.delinear(space_.quotient(t, stripCount()), task_extents_);
  for (size_t i = 0; i < task_groups_.size(); ++i)
    groups[task_groups_[i]] = outer[i].isConstant()
                                  ? outer[i]
                                  : space_.loop(space_.emitScalar(outer[i]), task_extents_[i]);
  emitLastApart(std::move(groups), block, body);
}

// Where all of an array but the end is whole, the end is code of its own.
void LanePlan::emitLastApart(std::vector<Index> groups, const Index& block, const Body& body) {
  const auto padded = std::ranges::find_if(
      task_groups_, [&](size_t g) { return loops_.bounded_last[g] && loops_.groupExtent(g) > 2; });
  if (padded == task_groups_.end()) return emitGroups(groups, block, body);
  const int64_t last = loops_.groupExtent(*padded) - 1;
  const V at = space_.emitScalar(groups[*padded]);
  auto emitAt = [&](const Index& i) {
    groups[*padded] = i;
    emitGroups(groups, block, body);
    return Builder::Values{};
  };
  b_.ifElse(b_.compare(Opcode::icmp, Predicate::eq, at, b_.index(last)),
            [&] { return emitAt(Index(last)); }, [&] { return emitAt(space_.loop(at, last)); });
}

void LanePlan::emitGroups(const std::vector<Index>& groups, const Index& block, const Body& body) {
  if (!rows_ && !strips()) return emitColumns(groups, block, body);
  if (blocks()) return rowBlock(groups, block, body);
  if (strips()) {
    strip_begin_ = space_.emitScalar(space_.scale(block, strip_));
    V end = b_.iadd(strip_begin_, b_.index(strip_));
    strip_end_ = b_.binary(Opcode::smin, end, b_.index(blocks_));
  }
  Emitter e(b_, space_, low_.module, lanes_);
  low_.bindInputs(e);
  body(e, groups, {});
}

void LanePlan::forBlocks(const std::vector<Index>& groups, const Body& body) {
  b_.forLoop(strip_begin_, strip_end_, 1, [&](V block) {
    emitColumns(groups, space_.loop(block, blocks_), body);
  });
}

// All blocks are alike but the last one.
void LanePlan::emitColumns(const std::vector<Index>& groups, const Index& block, const Body& body) {
  int64_t extent = vectorExtent();
  if (blocks_ == 1) return columnBlock(groups, b_.index(0), width_, extent, body);
  int64_t last = (blocks_ - 1) * width_ * lanes_, left = extent - last;
  V at = space_.emitScalar(space_.scale(block, width_ * lanes_));
  if (overlaps_last_) {
    at = b_.binary(Opcode::smin, at, b_.index(extent - width_ * lanes_));
    left = width_ * lanes_;
  }
  if (left == width_ * lanes_) return columnBlock(groups, at, width_, left, body);
  V is_last = b_.compare(Opcode::icmp, Predicate::eq, space_.emitScalar(block),
                         b_.index(blocks_ - 1));
  int last_width = static_cast<int>((left + lanes_ - 1) / lanes_);
  b_.ifElse(is_last,
            [&] {
              columnBlock(groups, b_.index(last), last_width, left, body);
              return Builder::Values{};
            },
            [&] {
              columnBlock(groups, at, width_, width_ * lanes_, body);
              return Builder::Values{};
            });
}

// Of the last block some rows may be missing.
void LanePlan::rowBlock(const std::vector<Index>& groups, const Index& block, const Body& body) {
  int64_t extent = loops_.groupExtent(row_group_);
  V first = space_.emitScalar(space_.scale(block, block_rows_)), count = b_.index(block_rows_);
  Guard guard;  // of as many rows as there are lanes
  if (extent % block_rows_ != 0 && overlaps_last_) {
    first = b_.binary(Opcode::smin, first, b_.index(extent - block_rows_));
  } else if (extent % block_rows_ != 0) {
    count = b_.binary(Opcode::smin, count, b_.isub(b_.index(extent), first));
    if (block_rows_ == lanes_) guard = firstLanes(b_, lanes_, count);
  }
  Emitter e(b_, space_, low_.module, lanes_);
  low_.bindInputs(e);
  Position rows{space_.loop(first, extent, true), guard, first, count};
  body(e, groups, std::span(&rows, 1));
}

// count: columns of the block that exist.
void LanePlan::columnBlock(const std::vector<Index>& groups, V at, int width, int64_t count,
                           const Body& body) {
  Emitter e(b_, space_, low_.module, lanes_);
  low_.bindInputs(e);
  V in_strip;
  if (strips()) in_strip = b_.isub(at, b_.imul(strip_begin_, b_.index(width_ * lanes_)));
  std::vector<Position> positions;
  for (int w = 0; w < width; ++w) {
    Position p{vectorIndex(at, w * lanes_), {}};
    if (strips()) p.first = b_.iadd(in_strip, b_.index(w * lanes_));
    else if (w == 0) p.first = at, p.count = b_.index(std::min<int64_t>(count, lanes_));
    if ((w + 1) * lanes_ > count) p.guard = firstLanes(b_, lanes_, b_.index(count - w * lanes_));
    positions.push_back(p);
  }
  body(e, groups, positions);
}

}  // namespace tercel::kernel
