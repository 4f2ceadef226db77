// What each task of a scatter has: a part of every line, or the windows in some rows.
#include <algorithm>
#include <array>
#include <bit>

#include "compiler/kernel/scatter_nest.h"

namespace tercel::kernel {

using ir::AttrKey;

namespace {

// What is left of a line beside whole vectors is a smaller vector or two: a masked store holds up
// the loads of the same line, which the next window often is.
bool hasFewPieces(int64_t rest) {
  return rest >= 0 && std::popcount(static_cast<uint64_t>(rest)) <= 2;
}

}  // namespace

void ScatterNest::chooseLanes() {
  lanes_ = scattersLines(m_, op_) ? vectorLanes(m_, low_.cluster, low_.machine) : 1;
  inner_ = window_.empty() ? 1 : window_.back();
  while (lanes_ > 1 && lanes_ / 2 >= inner_) lanes_ /= 2;
  if (lanes_ > inner_ && hasFewPieces(inner_ - lanes_ / 2)) lanes_ /= 2;
  const bool in_pieces = lanes_ <= inner_ && hasFewPieces(inner_ % lanes_);
  whole_ = in_pieces ? inner_ / lanes_ * lanes_ : inner_;
  block_ = lanes_ == 1 ? inner_ : std::min<int64_t>(inner_, blockOfLine());
  if (inner_ > 0) tasks_ = (inner_ + block_ - 1) / block_;
}

// What a task has of a line: few of them, as each goes over all windows, and no line of the cache
// is another's too.
int64_t ScatterNest::blockOfLine() const {
  constexpr int64_t kTasks = 4, kMostVectors = 8;
  const auto bytes = static_cast<int64_t>(byteSize(m_.shape(op_.operand(0)).dtype));
  if (inner_ * bytes % kLineBytes) return kMostVectors * lanes_;
  const int64_t line = std::max<int64_t>(kLineBytes / bytes, lanes_);
  return std::clamp((inner_ / kTasks + line - 1) / line * line, line, kMostVectors * lanes_);
}

// Where updates come from memory, tasks that each read a part of every line keep each other
// waiting. If the indices rise, a task has the windows in some of the operand's rows, else one has
// all.
void ScatterNest::chooseRows() {
  constexpr int64_t kFar = 8 << 20, kLongLine = 4096, kTasks = 4, kFewestRows = 64;
  const Shape& updates = m_.shape(op_.operand(count_ + 1));
  const auto line = inner_ * static_cast<int64_t>(byteSize(updates.dtype));
  if (tasks_ == 1 || updates.bytes() < kFar || line >= kLongLine) return;
  const Dims& dims = m_.shape(op_.operand(0)).dims;
  tasks_ = 1;
  block_ = inner_;
  for (int64_t d : op_.ints(AttrKey::scatter_dims_to_operand_dims)) {
    if (scatter_.size() != 1 || window_of_[static_cast<size_t>(d)] >= 0 || dims[d] < kFewestRows)
      continue;
    rows_ = d;
    tasks_ = kTasks;
    block_ = (dims[d] + kTasks - 1) / kTasks;
    return;
  }
}

// The tasks' rows, where indices here and there rise: the first task's are all otherwise.
void ScatterNest::emitRows(Emitter& e, V first, V last) {
  constexpr int64_t kSamples = 64;
  const V rows = b_.index(m_.shape(op_.operand(0)).dims[rows_]);
  const int64_t apart = std::max<int64_t>(1, scatter_[0] / kSamples);
  auto next = [&](V i, std::span<const V> before) {
    const V start = windowStart(e, {space_.loop(i, scatter_[0])})[static_cast<size_t>(rows_)];
    const V falls = b_.compare(Opcode::icmp, Predicate::slt, start, before[0]);
    return Builder::Values{start, b_.select(falls, b_.index(1), before[1])};
  };
  const V falls = b_.forLoop(b_.index(0), b_.index(scatter_[0]), apart,
                             std::array{b_.index(0), b_.index(0)}, next)[1];
  const V rise = b_.compare(Opcode::icmp, Predicate::eq, falls, b_.index(0));
  const V is_first = b_.compare(Opcode::icmp, Predicate::eq, first, b_.index(0));
  auto rowOf = [&](V task) {
    return b_.binary(Opcode::smin, b_.imul(task, b_.index(block_)), rows);
  };
  first_row_ = b_.select(rise, rowOf(first), b_.select(is_first, b_.index(0), rows));
  row_count_ = b_.isub(b_.select(rise, rowOf(last), rows), first_row_);
}

}  // namespace tercel::kernel
