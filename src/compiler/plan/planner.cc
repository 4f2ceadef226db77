#include "compiler/plan/planner.h"

#include <algorithm>

#include "compiler/kernel/elem.h"
#include "compiler/plan/identity_reads.h"
#include "compiler/plan/kernel_params.h"
#include "compiler/plan/op_traits.h"

namespace tercel::plan {
namespace {

using ir::AttrKey;
using ir::Op;
using ir::OpKind;
using ir::Value;
using program::Place;
using program::Step;
using program::StepKind;

constexpr size_t kForever = ~size_t{0};

}  // namespace

bool readElsewhere(const ir::Module& m, const kernel::Cluster& cluster, const Op& op, size_t o) {
  Value v = op.operand(o);
  for (ir::OpId id : cluster.ops) {
    const Op& other = m.op(id);
    for (size_t k = 0; k < other.operands.size(); ++k)
      if (other.operand(k) == v && !(other.result() == op.result() && k == o)) return true;
  }
  return false;
}

Result<Plan> Planner::run() {
  const ir::Function& main = m_.main();
  plan_.program.name = m_.name;
  bindArguments();
  Scope scope{.region = main.body};
  plan_.program.sequences.emplace_back();
  TERCEL_TRY(planRegion(scope));
  finish();
  return std::move(plan_);
}

void Planner::bindArguments() {
  const ir::Function& main = m_.main();
  const ir::Region& body = m_.region(main.body);
  for (size_t i = 0; i < body.args.size(); ++i) {
    const ir::Type& type = m_.type(body.args[i]);
    const ir::ArgInfo info = i < main.args.size() ? main.args[i] : ir::ArgInfo{};
    plan_.program.arguments.push_back({type.shape, type.is_token,
                                       static_cast<int32_t>(info.aliasing_output),
                                       info.buffer_donor, info.memory_kind});
    storages_.push_back({.place = Place::argument, .index = static_cast<uint32_t>(i),
                         .bytes = type.is_token ? 0 : type.shape.bytes()});
    storage_of_[body.args[i].index] = static_cast<StorageId>(storages_.size() - 1);
  }
  for (size_t i = 0; i < body.results.size(); ++i) {
    const ir::Type& type = m_.type(body.results[i]);
    std::string kind = i < main.results.size() ? main.results[i].memory_kind : std::string();
    plan_.program.results.push_back({type.shape, type.is_token, kind});
  }
}

// Results are made in place where each is the only result of its value.
void Planner::bindResults(Scope& scope) {
  if (!(scope.region == m_.main().body)) return;
  const ir::Region& body = m_.region(scope.region);
  for (size_t i = 0; i < body.results.size(); ++i) {
    Value v = root(body.results[i]);
    storages_.push_back({.place = Place::result, .index = static_cast<uint32_t>(i),
                         .bytes = plan_.program.results[i].is_token
                                      ? 0
                                      : plan_.program.results[i].shape.bytes()});
    StorageId id = static_cast<StorageId>(storages_.size() - 1);
    for (size_t a = 0; a < plan_.program.arguments.size(); ++a)
      if (plan_.program.arguments[a].aliased_result == static_cast<int32_t>(i))
        aliased_argument_[id] = static_cast<StorageId>(a);
    if (m_.def(v) && !scope.wanted.contains(v.index)) scope.wanted[v.index] = id;
  }
}

Value Planner::root(Value v) const {
  for (auto at = view_of_.find(v.index); at != view_of_.end(); at = view_of_.find(v.index))
    v = at->second;
  return v;
}

Status Planner::planRegion(Scope& scope) {
  scope.units = fuse(m_, scope.region);
  for (const Unit& unit : scope.units) {
    if (unit.is_cluster) continue;
    const Op& op = m_.op(unit.op);
    if (op.kind == OpKind::reshape_ || op.kind == OpKind::optimization_barrier_)
      for (size_t i = 0; i < op.results.size(); ++i)
        view_of_[op.result(i).index] = op.operand(i);
  }
  std::vector<std::pair<Value, StorageId>> results;
  findLastUses(scope);
  bindResults(scope);
  for (scope.unit = 0; scope.unit < scope.units.size(); ++scope.unit)
    TERCEL_TRY(planUnit(scope, scope.units[scope.unit]));
  if (scope.region == m_.main().body) {
    const ir::Region& body = m_.region(scope.region);
    std::vector<std::pair<StorageId, StorageId>> moves;
    StorageId first = 0;
    while (first < storages_.size() && storages_[first].place != Place::result) ++first;
    for (size_t i = 0; i < body.results.size(); ++i)
      if (!m_.type(body.results[i]).is_token)
        moves.emplace_back(storageOf(body.results[i]), first + static_cast<StorageId>(i));
    copyAll(scope, std::move(moves));
  }
  return Status();
}

void Planner::noteReads(const Op& op, size_t unit, Scope& scope) {
  for (Value v : op.operands) scope.last_use[root(v).index] = unit;
  for (ir::RegionId r : op.regions) {
    for (ir::OpId inner : m_.region(r).ops) noteReads(m_.op(inner), unit, scope);
    for (Value v : m_.region(r).results) scope.last_use[root(v).index] = unit;
  }
}

void Planner::noteReads(const kernel::Cluster& cluster, size_t unit, Scope& scope) {
  for (Value v : cluster.inputs) scope.last_use[root(v).index] = unit;
}

void Planner::findLastUses(Scope& scope) {
  for (size_t u = 0; u < scope.units.size(); ++u) {
    if (scope.units[u].is_cluster)
      noteReads(scope.units[u].cluster, u, scope);
    else
      noteReads(m_.op(scope.units[u].op), u, scope);
  }
  for (Value v : scope.pinned) scope.last_use[v.index] = kForever;
  for (Value v : m_.region(scope.region).results) {
    // A value made for exactly this result is delivered by being made.
    Value r = root(v);
    bool here = scope.wanted.contains(r.index);
    if (!here || scope.last_use.contains(r.index)) scope.last_use[r.index] = kForever;
  }
}

bool Planner::diesHere(const Scope& scope, Value v) const {
  Value r = root(v);
  auto at = scope.last_use.find(r.index);
  if (at == scope.last_use.end() || at->second > scope.unit) return false;
  // Values of the regions around live on: a loop may come back to them.
  const ir::ValueInfo& info = m_.value(r);
  const ir::Region& region = m_.region(scope.region);
  if (!info.def.valid())
    return std::find(region.args.begin(), region.args.end(), r) != region.args.end();
  for (ir::OpId op : region.ops)
    if (op == info.def) return true;
  return false;
}

StorageId Planner::newStorage(Value v) {
  storages_.push_back({.bytes = m_.shape(v).bytes(), .first = time_, .last = time_});
  return static_cast<StorageId>(storages_.size() - 1);
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

StorageId Planner::storageOf(Value v) {
  Value r = root(v);
  if (auto found = storage_of_.find(r.index); found != storage_of_.end()) return found->second;
  const Op* op = m_.def(r);
  TERCEL_CHECK(op && op->kind == OpKind::constant_, "value %", r.index, " has no memory: ",
               op ? ir::opName(op->kind) : "an argument");
  return storage_of_[r.index] = constantStorage(op->literal());
}

void Planner::touch(StorageId id) {
  if (storages_[id].part_of != kNoStorage) id = storages_[id].part_of;
  storages_[id].last = std::max(storages_[id].last, time_);
  touched_.push_back(id);
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

// Whether the cluster may write `target` though what it holds may be read by it or later.
bool Planner::mayWrite(const Scope& scope, StorageId target, const kernel::Cluster& cluster) {
  auto aliased = aliased_argument_.find(target);
  StorageId holder = aliased == aliased_argument_.end() ? target : aliased->second;
  std::vector<bool> identity = identityReads(m_, cluster);
  for (auto [value, storage] : storage_of_) {
    if (storage != holder) continue;
    auto last = scope.last_use.find(value);
    if (last == scope.last_use.end()) continue;
    if (last->second == kForever || last->second > scope.unit) return false;
    if (last->second < scope.unit) continue;
    for (size_t i = 0; i < cluster.inputs.size(); ++i)
      if (root(cluster.inputs[i]).index == value && !identity[i]) return false;
  }
  return true;
}

StorageId Planner::place(Scope& scope, Value v) {
  if (auto wanted = scope.wanted.find(v.index); wanted != scope.wanted.end()) {
    StorageId to = wanted->second;
    kernel::Cluster none;
    const Unit& unit = scope.units[scope.unit];
    if (mayWrite(scope, to, unit.is_cluster ? unit.cluster : none)) return storage_of_[v.index] = to;
  }
  return storage_of_[v.index] = newStorage(v);
}

void Planner::copy(Scope& scope, StorageId from, StorageId to, int64_t bytes) {
  if (from == to || bytes == 0) return;
  Step& step = addStep(scope, StepKind::copy);
  uint32_t a = slot(from), b = slot(to);
  step.slots = {a, b};
}

// All at once: no target is written before it has been read.
void Planner::copyAll(Scope& scope, std::vector<std::pair<StorageId, StorageId>> moves) {
  auto holderOf = [&](StorageId id) {
    auto found = aliased_argument_.find(id);
    return found == aliased_argument_.end() ? id : found->second;
  };
  std::erase_if(moves, [](auto& move) { return move.first == move.second; });
  while (!moves.empty()) {
    bool moved = false;
    for (size_t i = 0; i < moves.size() && !moved; ++i) {
      auto [from, to] = moves[i];
      bool read = false;
      for (size_t k = 0; k < moves.size(); ++k)
        read |= k != i && holderOf(moves[k].first) == holderOf(to);
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

Status Planner::planUnit(Scope& scope, Unit& unit) {
  if (!unit.is_cluster) return planOp(scope, m_.op(unit.op));
  if (unit.cluster.nest == kernel::Nest::update) return planInPlace(scope, unit.cluster);
  return planCluster(scope, unit.cluster);
}

// Outputs take the memory of inputs that are read for the last time, element by element.
void Planner::reuseInputs(const Scope& scope, kernel::Cluster& cluster) {
  cluster.alias.assign(cluster.outputs.size(), -1);
  cluster.may_alias.assign(cluster.outputs.size(), -1);
  std::vector<bool> identity = identityReads(m_, cluster);
  std::vector<bool> taken(cluster.inputs.size(), false);
  for (size_t o = 0; o < cluster.outputs.size(); ++o) {
    if (scope.wanted.contains(cluster.outputs[o].index)) continue;
    for (size_t i = 0; i < cluster.inputs.size(); ++i) {
      Value in = cluster.inputs[i];
      if (taken[i] || !identity[i] || !diesHere(scope, in)) continue;
      StorageId storage = storageOf(in);
      if (storages_[storage].place != Place::arena || scope.wanted.contains(root(in).index))
        continue;
      const Shape& made = m_.shape(cluster.outputs[o]);  // a kernel's buffer has one dtype
      if (m_.shape(in).bytes() != made.bytes() || m_.shape(in).dtype != made.dtype) continue;
      bool shared = false;  // two inputs may be views of one value
      for (size_t k = 0; k < cluster.inputs.size(); ++k)
        shared |= k != i && storageOf(cluster.inputs[k]) == storage;
      if (shared) continue;
      taken[i] = true;
      storage_of_[cluster.outputs[o].index] = storage;
      break;
    }
  }
}

Status Planner::planCluster(Scope& scope, kernel::Cluster cluster) {
  for (Value v : cluster.inputs) storageOf(v);
  ++time_;
  reuseInputs(scope, cluster);
  bool empty = true;
  for (Value v : cluster.outputs) {
    if (!storage_of_.contains(v.index)) place(scope, v);
    empty &= m_.shape(v).elements() == 0;
  }
  --time_;
  if (empty) return Status();
  for (size_t o = 0; o < cluster.outputs.size(); ++o) {
    StorageId out = storage_of_.at(cluster.outputs[o].index);
    auto aliased = aliased_argument_.find(out);
    for (size_t i = 0; i < cluster.inputs.size(); ++i) {
      StorageId in = storageOf(cluster.inputs[i]);
      // Memory of another element type is one more param for the same place.
      bool same = kernel::storedScalar(m_.shape(cluster.inputs[i]).dtype) ==
                  kernel::storedScalar(m_.shape(cluster.outputs[o]).dtype);
      if (in == out) (same ? cluster.alias : cluster.may_alias)[o] = static_cast<int32_t>(i);
      if (aliased != aliased_argument_.end() && aliased->second == in)
        cluster.may_alias[o] = static_cast<int32_t>(i);
    }
  }
  addKernelStep(scope, cluster);
  return Status();
}

// One slot for each param of the kernel.
void Planner::addKernelStep(Scope& scope, kernel::Cluster& cluster) {
  cluster.slices = slicesOf(m_, cluster);
  cluster.numbers = numbersOf(m_, cluster);
  uint32_t kernel = kernelFor(cluster);
  Step& step = addStep(scope, StepKind::kernel);
  step.target = kernel;
  step.name = nameOf(cluster);
  for (Value v : cluster.inputs) step.slots.push_back(slot(storageOf(v)));
  for (size_t o = 0; o < cluster.outputs.size(); ++o)
    if (cluster.alias[o] < 0)
      step.slots.push_back(slot(storage_of_.at(cluster.outputs[o].index)));
  for (Value v : cluster.slices) step.slots.push_back(slot(sliceStorage(v)));
  if (!cluster.numbers.empty()) step.slots.push_back(slot(numbersStorage(cluster)));
}

// What follows the slice's first element in the memory of its operand.
StorageId Planner::sliceStorage(Value slice) {
  const Op& op = *m_.def(slice);
  const Shape& whole = m_.shape(op.operand(0));
  int64_t first = 0;
  for (size_t d = 0; d < whole.dims.size(); ++d)
    first = first * whole.dims[d] + op.ints(AttrKey::start_indices)[d];
  StorageId id = storageOf(op.operand(0));
  storages_.push_back(storages_[id]);
  storages_.back().part_of = id;
  storages_.back().offset = first * static_cast<int64_t>(byteSize(whole.dtype));
  storages_.back().bytes -= storages_.back().offset;
  return static_cast<StorageId>(storages_.size() - 1);
}

StorageId Planner::numbersStorage(const kernel::Cluster& cluster) {
  std::vector<double> numbers;
  for (Value v : cluster.numbers) numbers.push_back(m_.def(v)->literal().number(0));
  return poolStorage(std::as_bytes(std::span(numbers)));
}

// The output takes the memory of its first operand (which is copied there first where it lives on).
Status Planner::planInPlace(Scope& scope, kernel::Cluster cluster) {
  Value out = cluster.outputs[0];
  const Op& op = *m_.def(out);
  size_t count = cluster.outputs.size();
  for (Value v : cluster.inputs) storageOf(v);
  for (size_t o = 0; o < count; ++o) {
    Value before = op.operand(o);
    StorageId from = storageOf(before);
    auto wanted = scope.wanted.find(cluster.outputs[o].index);
    // A loop wants what it carries where it is already.
    bool stays = wanted == scope.wanted.end()
                     ? storages_[from].place == Place::arena &&
                           !scope.wanted.contains(root(before).index)
                     : wanted->second == from;
    bool read_otherwise = readElsewhere(m_, cluster, op, o);
    for (Value v : cluster.inputs)
      read_otherwise |= !(v == before) && storageOf(v) == from;
    StorageId to;
    if (stays && !read_otherwise && diesHere(scope, before)) {
      to = storage_of_[cluster.outputs[o].index] = from;
    } else {
      ++time_;
      to = place(scope, cluster.outputs[o]);
      --time_;
      bool clash = false;
      auto aliased = aliased_argument_.find(to);
      for (Value v : cluster.inputs) {
        StorageId in = storageOf(v);
        clash |= (!(v == before) || read_otherwise) &&
                 (in == to || (aliased != aliased_argument_.end() && aliased->second == in));
      }
      if (clash) to = storage_of_[cluster.outputs[o].index] = newStorage(out);
    }
    copy(scope, from, to, m_.shape(before).bytes());
  }
  if (m_.shape(op.operand(0)).elements() == 0) return Status();
  // The kernel sees the outputs' memory as params; the old operands are params only where it reads
  // them besides.
  std::erase_if(cluster.inputs, [&](Value v) {
    for (size_t o = 0; o < count; ++o)
      if (v == op.operand(o)) return !readElsewhere(m_, cluster, op, o);
    return false;
  });
  cluster.alias.assign(count, -1);
  cluster.may_alias.assign(count, -1);
  addKernelStep(scope, cluster);
  return Status();
}

std::string Planner::nameOf(const kernel::Cluster& cluster) const {
  std::string name;
  for (ir::OpId id : cluster.ops) {
    const Op& op = m_.op(id);
    if (isDuplicable(m_, op)) continue;
    if (name.size() < 40) name += (name.empty() ? "" : "_") + std::string(ir::opName(op.kind));
  }
  return name.empty() ? std::string(ir::opName(m_.op(cluster.ops.back()).kind)) : name;
}

uint32_t Planner::kernelFor(const kernel::Cluster& cluster) {
  std::string key = kernel::structureKey(m_, cluster);
  auto [at, fresh] = kernels_.emplace(std::move(key), static_cast<uint32_t>(plan_.clusters.size()));
  if (fresh) {
    plan_.clusters.push_back(cluster);
    plan_.names.push_back(nameOf(cluster));
    plan_.program.kernels.emplace_back();
  }
  return at->second;
}

void Planner::finish() {
  plan_.program.arena_bytes = assignOffsets(storages_);
  for (program::Slot& slot : plan_.program.slots) {
    const Storage& s = storages_[slot.index];
    int64_t whole_at = s.part_of == kNoStorage ? 0 : storages_[s.part_of].offset;
    slot = {s.place, s.index, whole_at + s.offset, s.bytes};
    if (s.place == Place::arena || s.place == Place::constant) slot.index = 0;
  }
}

Status Planner::unsupported(const Op& op) const {
  std::string types;
  for (Value v : op.operands) types += (types.empty() ? "" : ", ") + toString(m_.shape(v));
  std::string target = op.kind == OpKind::custom_call_
                           ? cat(" to \"", op.symbol(AttrKey::call_target_name), "\"")
                           : std::string();
  return unimplemented(ir::opName(op.kind), target, " of (", types, ") is not supported by Tercel (at ",
                       m_.location(op.loc), ")");
}

Result<Plan> makePlan(const ir::Module& module) { return Planner(module).run(); }

}  // namespace tercel::plan
