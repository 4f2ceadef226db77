#include <algorithm>

#include "compiler/kernel/contract_nest.h"

namespace tercel::kernel {

using ir::Op;
using ir::OpKind;

ContractNest::ContractNest(Lowering& low, const Op& op)
    : m_(low.module), low_(low), op_(op), b_(low_.builder), space_(b_), contraction_(m_, op),
      sum_(computedScalar(m_.shape(op.result()).dtype)), edges_(zeroEdges(m_, op)) {}

bool ContractNest::suits() {
  const Shape& out = m_.shape(op_.result());
  if (!contraction_.simple() || isComplex(out.dtype) || isPred(out.dtype) || out.rank() == 0)
    return false;
  rank_ = out.dims.size();
  domain_ = out.dims;
  std::vector<bool> classes(rank_, false);
  for (int64_t e : contraction_.extents()) {
    domain_.push_back(e);
    classes.push_back(true);
  }
  if (elementCount(domain_) == 0) return false;
  if (!planTiles(classes)) return false;
  if (!edges_.empty() && !skipsZeros()) {
    edges_.clear();
    planTiles(classes);
  }
  if (tiling_.parts > 1) {
    if (!isFloat(sum_)) sum_ = Scalar::i32;
    k_ = k_ / extent(innerSum()) * steps(innerSum());
  }
  bool contiguous = tiling_.along_k || std::abs(strideOf(columns_.operand, columns_.group)) <= 1;
  int64_t rows = rows_.lines() * rows_.extent;
  bool packed_once = rows < 4 && rows <= tiling_.rows;
  if (!contiguous && packed_once) return false;  // little to gain
  return k_ >= 2 || rows >= 2;
}

bool ContractNest::planTiles(const std::vector<bool>& classes) {
  plan_ = planLoops(low_, domain_, [&](Emitter& e, const Indices& i) { probeAll(e, i); }, classes);
  if (!classify()) return false;
  tiling_ = chooseTiling(sizes(), low_.machine);
  preferSumAlongMemory();
  if (!packsInVain()) return true;
  joins_columns_ = false;
  return planTiles(classes);
}

// Few rows read what is packed for joined columns: lines that fill half a vector are better read as
// they lie.
bool ContractNest::packsInVain() const {
  constexpr int64_t kFewRows = 8;
  return columns_.unit > 1 && !tiling_.along_k && tiling_.parts == 1 &&
         rows_.lines() * rows_.extent < kFewRows &&
         2 * columns_.line >= sumLanes(low_.machine, byteSize(sum_)) &&
         strideOf(columns_.operand, columns_.group) == 1;
}

// Sums have their dimensions in any order. Where vectors may lie along one of them, it is the one
// along which memory does, and the others follow as they do in memory.
void ContractNest::preferSumAlongMemory() {
  if (tiling_.along_k || k_groups_.size() < 2) return;
  const std::vector<size_t> as_given = k_groups_;
  std::ranges::stable_sort(k_groups_, std::greater(), [&](size_t group) {
    return std::abs(strideOf(columns_.operand, group));
  });
  const ContractTiling other = chooseTiling(sizes(), low_.machine);
  other.along_k ? void(tiling_ = other) : void(k_groups_ = as_given);
}

void ContractNest::probeAll(Emitter& e, const Indices& domain) {
  Indices out(domain.begin(), domain.begin() + static_cast<int64_t>(rank_));
  Indices k(domain.begin() + static_cast<int64_t>(rank_), domain.end());
  for (size_t operand : {0, 1}) {
    size_t before = e.record->size();
    probeOperand(e, operand, domain);
    accesses_[operand] = {before, e.record->size()};
  }
  e.bindElem(op_.result(), {e.builder().opaque({sum_, 1}), {}});
  storeOutputs(low_, e, m_.shape(op_.result()).dims, out);
}

void ContractNest::probeOperand(Emitter& e, size_t operand, const Indices& domain) {
  Indices out(domain.begin(), domain.begin() + static_cast<int64_t>(rank_));
  Indices k(domain.begin() + static_cast<int64_t>(rank_), domain.end());
  e.scope([&] {
    return e.at(op_.operand(operand), operand == 0 ? contraction_.lhs(e.space(), out, k)
                                                   : contraction_.rhs(e.space(), out, k));
  });
}

// An operand's elements may differ along a group without a stride: they may be made of its index, or
// chosen by it.
void ContractNest::findVarying(size_t operand) {
  KernelLowering scratch(m_, low_.cluster, low_.machine);
  IndexSpace space(scratch.builder);
  varies_[operand].clear();
  LoopPlan apart = plan_;
  apart.groups.clear();
  std::vector<Index> variables;
  for (size_t loop = 0; loop < plan_.loops.size(); ++loop) {
    apart.groups.push_back({loop});
    variables.push_back(
        space.loop(scratch.builder.opaque({Scalar::i64, 1}), plan_.loops[loop].extent));
  }
  Emitter e(scratch.builder, space, m_, 1);
  scratch.bindInputs(e);
  std::vector<Access> accesses;
  std::vector<Bound> bounds;
  e.record = &accesses;
  e.bounds = &bounds;
  probeOperand(e, operand, domainIndices(space, apart, domain_.size(), variables));
  for (const Access& access : accesses) space.noteBareUse(access.index);
  for (const Bound& bound : bounds) space.noteBareUse(bound.index);
  for (const auto& group : plan_.groups)
    varies_[operand].push_back(std::ranges::any_of(group, [&](size_t loop) {
      return space.usedBare(variables[loop].terms[0].atom);
    }));
}

int64_t ContractNest::strideOf(size_t operand, size_t group) const {
  if (group == kNone) return 0;
  const Accesses& all = accesses_[operand];
  for (size_t access = all.last; access-- > all.first;)
    if (int64_t stride = plan_.strides[access][group]) return stride;
  return 0;
}

// Which groups index the m side alone, the n side alone, both, or the sum.
bool ContractNest::classify() {
  for (const Accesses& all : accesses_)
    for (size_t access = all.first; access < all.last; ++access)
      if (plan_.strides[access].empty()) return false;
  rows_ = columns_ = {};
  k_groups_.clear();
  task_groups_.clear();
  task_extents_.clear();
  k_ = 1;
  for (size_t g = 0; g < plan_.groups.size(); ++g) {
    bool summed = plan_.loops[plan_.groups[g][0]].dim >= rank_;
    if (summed) k_groups_.push_back(g);
    if (summed) k_ *= extent(g);
    if (!summed) columns_.group = g;
  }
  if (columns_.group == kNone) return false;
  for (size_t operand : {0, 1}) findVarying(operand);
  bool on_rhs = varies_[1][columns_.group], on_lhs = varies_[0][columns_.group];
  if (on_rhs && on_lhs) return false;
  columns_.operand = on_lhs ? 0 : 1;
  rows_.operand = 1 - columns_.operand;
  for (size_t g = 0; g < columns_.group; ++g) {
    bool rows = !varies_[columns_.operand][g];
    bool better = rows_.group == kNone || extent(g) >= std::min<int64_t>(extent(rows_.group), 8);
    if (rows && better) rows_.group = g;
  }
  preferConstantWindows();
  for (size_t g = 0; g < columns_.group; ++g)
    if (g != rows_.group) addOuter(g);
  columns_.extent = columns_.line = extent(columns_.group);
  rows_.extent = extent(rows_.group);
  joinShortLines();
  joinShortColumns();
  return true;
}

void ContractNest::addOuter(size_t group) {
  bool in_rows = varies_[rows_.operand][group], in_columns = varies_[columns_.operand][group];
  Axis* axis = in_rows == in_columns ? nullptr : in_rows ? &rows_ : &columns_;
  (axis ? axis->outer : task_groups_).push_back(group);
  (axis ? axis->outer_extents : task_extents_).push_back(extent(group));
}

// Rows of short lines are numbered through, so that a tile takes several whole lines.
void ContractNest::joinShortLines() {
  constexpr int64_t kShort = 7;
  while (rows_.extent <= kShort && !rows_.outer.empty()) joinLines(rows_);
}

// So are columns of short lines that lie apart in the n side alone, which is packed.
void ContractNest::joinShortColumns() {
  int64_t lanes = sumLanes(low_.machine, byteSize(sum_));
  const Accesses& own = accesses_[columns_.operand];
  auto goesOn = [&](size_t access) {
    const std::vector<int64_t>& strides = plan_.strides[access];
    bool is_own = access >= own.first && access < own.last;
    return is_own || (!strides.empty() && strides[columns_.outer.back()] ==
                                              columns_.extent * strides[columns_.group]);
  };
  while (joins_columns_ && columns_.extent < lanes && !columns_.outer.empty()) {
    for (size_t access = 0; access < plan_.accesses.size(); ++access)
      if (!goesOn(access)) return;
    joinLines(columns_);
  }
}

void ContractNest::joinLines(Axis& axis) {
  std::vector<size_t>&loops = plan_.groups[axis.group], &more = plan_.groups[axis.outer.back()];
  loops.insert(loops.begin(), more.begin(), more.end());
  more.clear();
  axis.outer.pop_back();
  axis.outer_extents.pop_back();
  axis.unit = axis.extent;
  axis.extent = extent(axis.group);
}

ContractSide ContractNest::side(const Axis& axis) const {
  DType dtype = m_.shape(op_.operand(axis.operand)).dtype;
  ContractSide side{.lines = axis.lines(),
                    .unit = axis.unit,
                    .own_stride = strideOf(axis.operand, axis.group),
                    .bytes = static_cast<int64_t>(byteSize(dtype)),
                    .converts = computedScalar(dtype) != storedScalar(dtype)};
  side.sum_stride = strideOf(axis.operand, innerSum());
  for (size_t g : k_groups_)
    side.widest_sum_stride = std::max(side.widest_sum_stride, std::abs(strideOf(axis.operand, g)));
  return side;
}

ContractSizes ContractNest::sizes() const {
  return {.m = rows_.extent,
          .n = columns_.extent,
          .k = k_,
          .inner_k = extent(innerSum()),
          .outer_k = k_groups_.empty() ? 1 : extent(k_groups_.front()),
          .batches = elementCount(task_extents_),
          .sum_bytes = byteSize(sum_),
          .parts = possibleParts(),
          .tile_parts = possibleTileParts(),
          .is_alone = low_.cluster.is_alone,
          .nanoseconds = clusterCost(m_, low_.cluster, low_.machine),
          .m_side = side(rows_),
          .n_side = side(columns_)};
}

void ContractNest::run() {
  addScratch();
  int64_t tasks = elementCount(task_extents_) * tiling_.row_tasks * tiling_.column_tasks;
  low_.forTasks(tasks, [&](V task) {
    emitTask(task);
    storeEdges(task, tasks);
  });
}

std::vector<size_t> ContractNest::outerSums() const {
  std::vector<size_t> list = k_groups_;
  if (!list.empty()) list.pop_back();
  return list;
}

int64_t ContractNest::blockOf(size_t group) const {
  bool is_cut = tiling_.block > 0 && group == k_groups_.front();
  return is_cut ? tiling_.block : steps(group);
}

int64_t ContractNest::blockSize() const {
  return k_groups_.empty() ? 1 : k_ / steps(k_groups_.front()) * blockOf(k_groups_.front());
}

// What the block has of a dimension of the sum.
std::pair<V, V> ContractNest::rangeOf(size_t group) {
  if (tiling_.block > 0 && group == k_groups_.front()) return {block_first_, block_last_};
  return {b_.index(0), b_.index(steps(group))};
}

// Steps of the sum in the block.
V ContractNest::stepsInBlock() {
  if (tiling_.block == 0) return b_.index(k_);
  return b_.imul(b_.isub(block_last_, block_first_), b_.index(blockSize() / tiling_.block));
}

Index ContractNest::inBlock(size_t group, V i) {
  if (tiling_.block == 0 || group != k_groups_.front()) return space_.loop(i, steps(group));
  return space_.loop(b_.isub(i, block_first_), tiling_.block);
}

bool ContractNest::hasEpilogue() const {
  const std::vector<ir::OpId>& ops = low_.cluster.ops;
  auto product = std::ranges::find(ops, &op_, [&](ir::OpId id) { return &m_.op(id); });
  return !std::all_of(std::next(product), ops.end(), [&](ir::OpId id) {
    const OpKind kind = m_.op(id).kind;
    return kind == OpKind::reshape_ || kind == OpKind::pad_ || kind == OpKind::constant_;
  });
}

void ContractNest::addScratch() {
  constexpr int64_t kLine = 64;
  const ContractTiling& t = tiling_;
  int64_t k = blockSize();
  Scalar packed = packedScalar();
  if (t.pack_n) n_scratch_ = b_.addScratch(packed, t.panels * panelSize());
  if (isBiased()) bias_scratch_ = b_.addScratch(sum_, t.panels * t.panel());
  if (t.across) {
    m_pitch_ = k * t.rows;
    m_scratch_ = b_.addScratch(packed, t.together * m_pitch_);
  } else if (t.pack_m) {
    m_pitch_ = t.roomFor(k) + kLine / byteSize(packed);  // rows keep out of each other's cache sets
    m_scratch_ = b_.addScratch(packed, t.rows * m_pitch_);
  }
  staged_ = t.block > 0 || t.in_tiles || (hasEpilogue() && t.rows * t.vectors > 1);
  int64_t kept = t.block > 0 ? t.tiles * t.panels : 1;
  if (staged_) tile_scratch_ = b_.addScratch(sum_, kept * t.rows * t.panel());
}

Status lowerContract(Lowering& low) {
  for (ir::OpId id : low.cluster.ops) {
    const Op& op = low.module.op(id);
    if (op.kind != OpKind::dot_general_ && op.kind != OpKind::convolution_) continue;
    ContractNest nest(low, op);
    if (!nest.suits()) continue;
    nest.run();
    return Status();
  }
  return lowerLoop(low);
}

}  // namespace tercel::kernel
