// Where values live: the storages of a plan, the slots steps name them by, and moves between them.
#include <algorithm>

#include "compiler/plan/identity_reads.h"
#include "compiler/plan/planner.h"

namespace tercel::plan {

using ir::Op;
using ir::OpKind;
using ir::Value;
using program::Place;
using program::Step;
using program::StepKind;

StorageId Planner::newStorage(Value v) {
  storages_.push_back({.bytes = m_.shape(v).bytes(), .first = time_, .last = time_});
  return static_cast<StorageId>(storages_.size() - 1);
}

StorageId Planner::packStorages(StorageId first) {
  const std::vector<StorageId> own = wholeStorages(storages_, first);
  const auto block = static_cast<StorageId>(storages_.size());
  for (StorageId id : own) storages_[id].part_of = block;
  storages_.push_back({.bytes = assignOffsets(storages_, own), .first = time_, .last = time_});
  return block;
}

StorageId Planner::keep(uint32_t value, StorageId there) {
  storages_[there].values.push_back(value);
  return storage_of_[value] = there;
}

StorageId Planner::holder(StorageId id) const {
  StorageId argument = storages_[id].argument;
  return argument == kNoStorage ? id : argument;
}

// A result's memory may be the argument's at run time: either's values lie in it.
std::vector<uint32_t> Planner::heldIn(StorageId id) const {
  std::vector<uint32_t> held;
  for (StorageId there : {id, storages_[id].argument}) {
    if (there == kNoStorage) continue;
    for (uint32_t value : storages_[there].values)
      if (storage_of_.at(value) == there) held.push_back(value);
  }
  return held;
}

StorageId Planner::constantStorage(const ir::Literal& literal) {
  ir::Literal all = literal.expanded();
  const void* key = all.bytes().data();
  if (!literal.isSplat())
    if (auto found = constants_.find(key); found != constants_.end()) return found->second;
  StorageId id = poolStorage(all.bytes());
  if (!literal.isSplat()) constants_[key] = id;
  return id;
}

StorageId Planner::poolStorage(std::span<const std::byte> bytes) {
  auto& pool = plan_.program.constants;
  pool.resize((pool.size() + 63) / 64 * 64);
  storages_.push_back({.place = Place::constant, .offset = static_cast<int64_t>(pool.size()),
                       .bytes = static_cast<int64_t>(bytes.size())});
  pool.insert(pool.end(), bytes.begin(), bytes.end());
  return static_cast<StorageId>(storages_.size() - 1);
}

// What follows the slice's first element in the memory of its operand.
StorageId Planner::sliceStorage(Value slice) {
  const Op& op = *m_.def(slice);
  const Shape& whole = m_.shape(op.operand(0));
  int64_t first = 0;
  for (size_t d = 0; d < whole.dims.size(); ++d)
    first = first * whole.dims[d] + op.ints(ir::AttrKey::start_indices)[d];
  StorageId id = storageOf(op.operand(0));
  storages_.push_back(storages_[id]);
  storages_.back().part_of = id;
  storages_.back().values.clear();
  storages_.back().offset = first * static_cast<int64_t>(byteSize(whole.dtype));
  storages_.back().bytes -= storages_.back().offset;
  return static_cast<StorageId>(storages_.size() - 1);
}

StorageId Planner::numbersStorage(const kernel::Cluster& cluster) {
  std::vector<double> numbers;
  for (Value v : cluster.numbers) numbers.push_back(m_.def(v)->literal().number(0));
  return poolStorage(std::as_bytes(std::span(numbers)));
}

StorageId Planner::storageOf(Value v) {
  Value r = root(v);
  if (auto found = storage_of_.find(r.index); found != storage_of_.end()) return found->second;
  const Op* op = m_.def(r);
  TERCEL_CHECK(op && op->kind == OpKind::constant_, "value %", r.index, " has no memory: ",
               op ? ir::opName(op->kind) : "an argument");
  return keep(r.index, constantStorage(op->literal()));
}

StorageId Planner::whole(StorageId id) const {
  while (storages_[id].part_of != kNoStorage) id = storages_[id].part_of;
  return id;
}

void Planner::touch(StorageId id) {
  id = whole(id);
  storages_[id].first = std::min(storages_[id].first, time_);
  storages_[id].last = std::max(storages_[id].last, time_);
  touched_.push_back(id);
}

void Planner::touchedBefore(std::vector<StorageId> earlier) {
  earlier.insert(earlier.end(), touched_.begin(), touched_.end());
  touched_ = std::move(earlier);
}

uint32_t Planner::slot(StorageId id) {
  touch(id);
  if (slot_of_.size() <= id) slot_of_.resize(id + 1, kNoStorage);
  if (slot_of_[id] == kNoStorage) {
    slot_of_[id] = static_cast<uint32_t>(plan_.program.slots.size());
    plan_.program.slots.push_back({.index = id});  // completed in finish()
  }
  return slot_of_[id];
}

Step& Planner::addStep(Scope& scope, StepKind kind) {
  ++time_;
  Step& step = plan_.program.sequences[scope.sequence].emplace_back();
  step.kind = kind;
  return step;
}

// Whether a value that lies there is a result of the region and could not be made where it is wanted.
bool Planner::isToBeMoved(const Scope& scope, uint32_t value, StorageId there) const {
  const auto wanted = scope.wanted.find(value);
  return wanted != scope.wanted.end() && wanted->second != there &&
         !scope.last_use.contains(value);
}

// Whether the cluster may write `target` though what it holds may be read by it or later, but for
// what is copied there before.
bool Planner::mayWrite(const Scope& scope, StorageId target, const kernel::Cluster& cluster,
                       Value output, Value copied) {
  if (storages_[target].part_of != kNoStorage) return pieceIsFree(scope, target);
  std::vector<bool> identity = identityReads(m_, cluster, output);
  for (uint32_t value : heldIn(target)) {
    if (isToBeMoved(scope, value, target)) return false;
    auto last = scope.last_use.find(value);
    if (last == scope.last_use.end()) continue;
    if (last->second > scope.unit) return false;
    if (last->second < scope.unit) continue;
    for (size_t i = 0; i < cluster.inputs.size(); ++i)
      if (root(cluster.inputs[i]).index == value && !identity[i] &&
          !(cluster.inputs[i] == copied))
        return false;
  }
  return true;
}

StorageId Planner::place(Scope& scope, Value v, const kernel::Cluster& maker, Value copied) {
  if (auto wanted = scope.wanted.find(v.index); wanted != scope.wanted.end())
    if (mayWrite(scope, wanted->second, maker, v, copied)) return keep(v.index, wanted->second);
  return keep(v.index, newStorage(v));
}

void Planner::copy(Scope& scope, StorageId from, StorageId to, int64_t bytes) {
  if (from == to || bytes == 0) return;
  Step& step = addStep(scope, StepKind::copy);
  uint32_t a = slot(from), b = slot(to);
  step.slots = {a, b};
}

// All at once: no target is written before it has been read.
void Planner::copyAll(Scope& scope, std::vector<std::pair<StorageId, StorageId>> moves) {
  std::erase_if(moves, [](auto& move) { return move.first == move.second; });
  while (!moves.empty()) {
    bool moved = false;
    for (size_t i = 0; i < moves.size() && !moved; ++i) {
      auto [from, to] = moves[i];
      bool read = false;
      for (size_t k = 0; k < moves.size(); ++k)
        read |= k != i && holder(moves[k].first) == holder(to);
      if (read) continue;
      copy(scope, from, to, storages_[from].bytes);
      moves.erase(moves.begin() + static_cast<int64_t>(i));
      moved = true;
    }
    if (moved) continue;
    // A cycle: set one source aside.
    StorageId from = moves[0].first;
    storages_.push_back({.bytes = storages_[from].bytes, .first = time_ + 1, .last = time_ + 1});
    StorageId aside = static_cast<StorageId>(storages_.size() - 1);
    copy(scope, from, aside, storages_[from].bytes);
    for (auto& move : moves)
      if (move.first == from) move.first = aside;
  }
}

void Planner::deliver(Scope& scope, Value v, StorageId to) {
  copy(scope, storageOf(v), to, m_.shape(v).bytes());
}

}  // namespace tercel::plan
