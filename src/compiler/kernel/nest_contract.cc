#include <algorithm>

#include "compiler/kernel/contract_nest.h"

namespace tercel::kernel {

using ir::Op;
using ir::OpKind;

ContractNest::ContractNest(Lowering& low, const Op& op)
    : m_(low.module), low_(low), op_(op), b_(low_.builder), space_(b_), contraction_(m_, op),
      sum_(computedScalar(m_.shape(op.result()).dtype)) {}

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
  plan_ = planLoops(low_, domain_, [&](Emitter& e, const Indices& i) { probeAll(e, i); }, classes);
  if (!classify()) return false;
  tiling_ = chooseTiling(sizes(), low_.machine);
  bool contiguous = tiling_.along_k || std::abs(strideOf(n_operand_, n_group_)) <= 1;
  bool packed_once = m_extent_ < 4 && m_extent_ <= tiling_.rows;
  if (!contiguous && packed_once) return false;  // little to gain
  return k_ >= 2 || m_extent_ >= 2;
}

void ContractNest::probeAll(Emitter& e, const Indices& domain) {
  Indices out(domain.begin(), domain.begin() + static_cast<int64_t>(rank_));
  Indices k(domain.begin() + static_cast<int64_t>(rank_), domain.end());
  for (size_t operand : {0, 1}) {
    size_t before = e.record->size();
    e.at(op_.operand(operand), operand == 0 ? contraction_.lhs(e.space(), out, k)
                                            : contraction_.rhs(e.space(), out, k));
    if (e.record->size() > before)
      access_[operand] = before;
    else  // not from memory, or read already, as the lhs
      access_[operand] = operand == 0 ? kNone : access_[0];
  }
  e.bindElem(op_.result(), {e.builder().opaque({sum_, 1}), {}});
  storeOutputs(e, out);
}

int64_t ContractNest::strideOf(size_t operand, size_t group) const {
  return group == kNone || access_[operand] == kNone ? 0 : plan_.strides[access_[operand]][group];
}

// Which groups index the m side alone, the n side alone, both, or the sum.
bool ContractNest::classify() {
  for (size_t access : access_)
    if (access != kNone && plan_.strides[access].empty()) return false;
  n_group_ = kNone;
  for (size_t g = 0; g < plan_.groups.size(); ++g) {
    bool summed = plan_.loops[plan_.groups[g][0]].dim >= rank_;
    if (summed) k_groups_.push_back(g);
    (summed ? k_ : n_) *= summed ? extent(g) : 1;
    if (!summed) n_group_ = g;
  }
  if (n_group_ == kNone) return false;
  bool on_rhs = strideOf(1, n_group_) != 0, on_lhs = strideOf(0, n_group_) != 0;
  if (on_rhs && on_lhs) return false;
  n_operand_ = on_lhs ? 0 : 1;
  for (size_t g = 0; g < n_group_; ++g) {
    bool rows = strideOf(n_operand_, g) == 0;
    bool better = m_group_ == kNone || extent(g) >= std::min<int64_t>(extent(m_group_), 8);
    if (rows && better) m_group_ = g;
  }
  for (size_t g = 0; g < n_group_; ++g) {
    if (g == m_group_) continue;
    task_groups_.push_back(g);
    task_extents_.push_back(extent(g));
  }
  n_ = extent(n_group_);
  m_extent_ = extent(m_group_);
  return true;
}

ContractSide ContractNest::side(size_t operand, size_t own_group) const {
  DType dtype = m_.shape(op_.operand(operand)).dtype;
  ContractSide side{.own_stride = strideOf(operand, own_group),
                    .bytes = static_cast<int64_t>(byteSize(dtype)),
                    .converts = computedScalar(dtype) != storedScalar(dtype),
                    .padded = operand == 0 && contraction_.padded()};
  side.sum_stride = strideOf(operand, innerSum());
  for (size_t g : k_groups_)
    side.widest_sum_stride = std::max(side.widest_sum_stride, std::abs(strideOf(operand, g)));
  return side;
}

ContractSizes ContractNest::sizes() const {
  return {.m = m_extent_,
          .n = n_,
          .k = k_,
          .inner_k = extent(innerSum()),
          .batches = elementCount(task_extents_),
          .sum_bytes = byteSize(sum_),
          .m_side = side(1 - n_operand_, m_group_),
          .n_side = side(n_operand_, n_group_)};
}

void ContractNest::run() {
  addScratch();
  int64_t tasks = elementCount(task_extents_) * tiling_.row_tasks * tiling_.column_tasks;
  low_.forTasks(tasks, [&](V task) { emitTask(task); });
}

std::vector<size_t> ContractNest::outerSums() const {
  std::vector<size_t> list = k_groups_;
  if (!list.empty()) list.pop_back();
  return list;
}

bool ContractNest::hasEpilogue() const {
  return !std::ranges::all_of(low_.cluster.ops, [&](ir::OpId id) {
    return &m_.op(id) == &op_ || m_.op(id).kind == OpKind::reshape_;
  });
}

void ContractNest::addScratch() {
  constexpr int64_t kLine = 64;
  const ContractTiling& t = tiling_;
  if (t.pack_n) n_scratch_ = b_.addScratch(sum_, t.panels * k_ * t.panel());
  if (t.across) {
    m_pitch_ = k_ * t.rows;
    m_scratch_ = b_.addScratch(sum_, t.together * m_pitch_);
  } else if (t.pack_m) {
    m_pitch_ = k_ + kLine / byteSize(sum_);  // rows keep out of each other's cache sets
    m_scratch_ = b_.addScratch(sum_, t.rows * m_pitch_);
  }
  staged_ = hasEpilogue() && t.rows * t.vectors > 1;
  if (staged_) tile_scratch_ = b_.addScratch(sum_, t.rows * t.panel());
}

// Where the tile or panel of this number starts: the last one is moved back, so that it is whole.
V ContractNest::startOf(V index, int64_t size, int64_t whole) {
  if (whole <= size) return b_.index(0);
  V start = b_.imul(index, b_.index(size));
  return whole % size == 0 ? start : b_.binary(Opcode::smin, start, b_.index(whole - size));
}

ContractNest::Groups ContractNest::taskGroups(const Indices& outer) {
  Groups groups(plan_.groups.size());
  for (size_t i = 0; i < task_groups_.size(); ++i)
    groups[task_groups_[i]] = outer[i].isConstant()
                                  ? outer[i]
                                  : space_.loop(space_.emitScalar(outer[i]), task_extents_[i]);
  return groups;
}

void ContractNest::emitTask(V task) {
  const ContractTiling& t = tiling_;
  int64_t batches = elementCount(task_extents_);
  Index rest = space_.loop(task, batches * t.row_tasks * t.column_tasks);
  Index rows = space_.remainder(rest, t.row_tasks);
  rest = space_.quotient(rest, t.row_tasks);
  Index columns = space_.remainder(rest, t.column_tasks);
  Groups groups = taskGroups(space_.delinear(space_.quotient(rest, t.column_tasks), task_extents_));
  auto bounds = [&](const Index& part, int64_t parts, int64_t size, int64_t whole) {
    if (parts == 1) return std::pair(b_.index(0), b_.index(whole));
    V first = b_.imul(space_.emitScalar(part), b_.index(size));
    V end = b_.binary(Opcode::smin, b_.iadd(first, b_.index(size)), b_.index(whole));
    return std::pair(first, end);
  };
  int64_t all_panels = (n_ + t.panel() - 1) / t.panel();
  int64_t all_tiles = (m_extent_ + t.rows - 1) / t.rows;
  auto [first, last] = bounds(columns, t.column_tasks, t.panels, all_panels);
  auto [tile_first, tile_last] = bounds(rows, t.row_tasks, t.tiles, all_tiles);
  if (t.pack_n) packN(groups, first, last);
  if (t.across) return emitAcross(groups, tile_first, tile_last, first, last);
  b_.forLoop(tile_first, tile_last, 1, [&](V tile) {
    V row = startOf(tile, t.rows, m_extent_);
    if (t.pack_m) packM(groups, row);
    emitPanels(groups, row, b_.index(0), first, last);
  });
}

// Tiles packed together start at one row, which for the last ones is moved back. No task but the
// last one ends within.
void ContractNest::emitAcross(const Groups& groups, V tile_first, V tile_last, V first, V last) {
  V rows = b_.index(tiling_.rows);
  int64_t together = tiling_.together * tiling_.rows;
  b_.forLoop(tile_first, tile_last, tiling_.together, [&](V tile) {
    V wanted = b_.imul(tile, rows);
    V row = b_.binary(Opcode::smin, wanted, b_.index(m_extent_ - together));
    packAcross(groups, row);
    V begin = b_.binary(Opcode::udiv, b_.isub(wanted, row), rows);
    V left = b_.iadd(begin, b_.isub(tile_last, tile));
    V end = b_.binary(Opcode::smin, left, b_.index(tiling_.together));
    b_.forLoop(begin, end, 1, [&](V each) {
      V slot = b_.imul(each, b_.index(m_pitch_));
      emitPanels(groups, b_.iadd(row, b_.imul(each, rows)), slot, first, last);
    });
  });
}

// The tile at a row with each of the task's panels.
void ContractNest::emitPanels(const Groups& groups, V row, V m_slot, V first, V last) {
  b_.forLoop(first, last, 1, [&](V panel) {
    emitTile({groups, row, m_slot, startOf(panel, tiling_.panel(), n_), b_.isub(panel, first)});
  });
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
