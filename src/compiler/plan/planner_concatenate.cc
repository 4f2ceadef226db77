// Concatenations of many operands as memory: each operand is made where it belongs in the result,
// or copied there.
#include <algorithm>

#include "compiler/plan/op_traits.h"
#include "compiler/plan/planner.h"

namespace tercel::plan {

using ir::Op;
using ir::Value;

// An operand's piece of the memory that holds the result.
StorageId Planner::pieceOf(StorageId whole, int64_t offset, int64_t bytes) {
  storages_.push_back(storages_[whole]);
  Storage& piece = storages_.back();
  piece.part_of = whole;
  piece.offset = offset;
  piece.bytes = bytes;
  piece.values.clear();
  return static_cast<StorageId>(storages_.size() - 1);
}

// Operands that the region makes for this op alone are wanted in their pieces.
void Planner::wantPieces(Scope& scope, const Op& op, size_t unit) {
  constexpr int64_t kAlign = 64;  // kernels rely on it
  if (rowsJoined(m_, op) != 1) return;
  auto wanted = scope.wanted.find(op.result().index);
  if (wanted == scope.wanted.end()) {
    storages_.push_back({.bytes = m_.shape(op.result()).bytes(), .first = kUnborn});
    const auto whole = static_cast<StorageId>(storages_.size() - 1);
    wanted = scope.wanted.emplace(op.result().index, whole).first;
  }
  const StorageId whole = wanted->second;
  int64_t offset = 0;
  for (Value v : op.operands) {
    const int64_t bytes = m_.shape(v).bytes();
    const Value made = root(v);
    const auto uses = std::ranges::count(op.operands, made, [&](Value o) { return root(o); });
    const bool own = m_.def(made) && scope.own.contains(made.index) && uses == 1 &&
                     scope.last_use.at(made.index) == unit;
    if (own && bytes > 0 && offset % kAlign == 0 && !scope.wanted.contains(made.index))
      scope.wanted[made.index] = pieceOf(whole, offset, bytes);
    offset += bytes;
  }
}

// Where it is wanted, unless an operand lies there that is not in its piece.
StorageId Planner::placeJoined(Scope& scope, const Op& op) {
  for (Value v : op.operands) storageOf(v);
  ++time_;
  StorageId to = place(scope, op.result(), {});
  const bool clash = std::ranges::any_of(op.operands, [&](Value v) {
    const StorageId from = storageOf(v);
    return storages_[from].part_of != to && holder(from) == holder(to);
  });
  if (clash) to = keep(op.result().index, newStorage(op.result()));
  --time_;
  return to;
}

Status Planner::planConcatenate(Scope& scope, const Op& op) {
  const StorageId to = placeJoined(scope, op);
  if (m_.shape(op.result()).elements() == 0) return Status();
  const int64_t rows = rowsJoined(m_, op);
  if (rows > 1) return joinRows(scope, op, rows, to);
  int64_t offset = 0;
  for (Value v : op.operands) {
    const StorageId from = storageOf(v);
    const int64_t bytes = m_.shape(v).bytes();
    const bool there = storages_[from].part_of == to && storages_[from].offset == offset;
    if (bytes > 0 && !there) copy(scope, from, pieceOf(to, offset, bytes), bytes);
    offset += bytes;
  }
  return Status();
}

Status Planner::joinRows(Scope& scope, const Op& op, int64_t rows, StorageId to) {
  program::Step& step = addStep(scope, program::StepKind::concatenate);
  step.name = "concatenate";
  step.values = {rows};
  for (Value v : op.operands) {
    step.slots.push_back(slot(storageOf(v)));
    step.values.push_back(m_.shape(v).bytes() / rows);
  }
  step.slots.push_back(slot(to));
  return Status();
}

// Whether nothing in the memory around is read any more, even by the unit that writes the piece.
bool Planner::pieceIsFree(const Scope& scope, StorageId piece) const {
  for (StorageId id = piece; id != kNoStorage; id = storages_[id].part_of) {
    for (uint32_t value : heldIn(id)) {
      if (isToBeMoved(scope, value, id)) return false;
      auto last = scope.last_use.find(value);
      if (last != scope.last_use.end() && last->second >= scope.unit) return false;
    }
  }
  return true;
}

}  // namespace tercel::plan
