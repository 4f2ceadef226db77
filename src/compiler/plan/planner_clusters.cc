// Clusters as kernel steps: which memory each output takes.
#include <algorithm>

#include "compiler/kernel/elem.h"
#include "compiler/plan/identity_reads.h"
#include "compiler/plan/kernel_params.h"
#include "compiler/plan/op_traits.h"
#include "compiler/plan/planner.h"
#include "compiler/plan/product_params.h"

namespace tercel::plan {

using ir::Op;
using ir::Value;
using program::Place;
using program::Step;
using program::StepKind;

namespace {

// What the constant pool holds instead: storageOf() puts it there.
bool isSmallConstant(const ir::Module& m, const kernel::Cluster& cluster) {
  constexpr int64_t kMaxBytes = 64;
  const Op& op = m.op(cluster.ops[0]);
  return cluster.ops.size() == 1 && op.kind == ir::OpKind::constant_ &&
         m.shape(op.result()).bytes() <= kMaxBytes;
}

}  // namespace

// Outputs take the memory of inputs that are read for the last time, element by element.
void Planner::reuseInputs(const Scope& scope, kernel::Cluster& cluster) {
  cluster.alias.assign(cluster.outputs.size(), -1);
  cluster.may_alias.assign(cluster.outputs.size(), -1);
  std::vector<bool> taken(cluster.inputs.size(), false);
  for (size_t o = 0; o < cluster.outputs.size(); ++o) {
    if (scope.wanted.contains(cluster.outputs[o].index)) continue;
    std::vector<bool> identity = identityReads(m_, cluster, cluster.outputs[o]);
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
      keep(cluster.outputs[o].index, storage);
      break;
    }
  }
}

// Which inputs lie where the outputs are written to.
void Planner::noteShared(kernel::Cluster& cluster) {
  for (size_t o = 0; o < cluster.outputs.size(); ++o) {
    StorageId out = storage_of_.at(cluster.outputs[o].index);
    for (size_t i = 0; i < cluster.inputs.size(); ++i) {
      StorageId in = storageOf(cluster.inputs[i]);
      // Memory of another element type is one more param for the same place.
      bool same = kernel::storedScalar(m_.shape(cluster.inputs[i]).dtype) ==
                  kernel::storedScalar(m_.shape(cluster.outputs[o]).dtype);
      if (in == out) (same ? cluster.alias : cluster.may_alias)[o] = static_cast<int32_t>(i);
      if (in == storages_[out].argument) cluster.may_alias[o] = static_cast<int32_t>(i);
    }
  }
}

Status Planner::planCluster(Scope& scope, kernel::Cluster cluster) {
  if (isSmallConstant(m_, cluster) || isUnread(cluster)) return Status();
  for (Value v : cluster.inputs) storageOf(v);
  ++time_;
  reuseInputs(scope, cluster);
  bool empty = true;
  for (Value v : cluster.outputs) {
    if (!storage_of_.contains(v.index)) place(scope, v, cluster);
    empty &= m_.shape(v).elements() == 0;
  }
  --time_;
  if (empty) return Status();
  noteShared(cluster);
  std::vector<std::pair<uint32_t, StorageId>> entered = enterLoop(scope, cluster);
  addKernelStep(scope, cluster);
  for (auto [value, storage] : entered) keep(value, storage);
  return Status();
}

// Large arrays that a region's loop carries elsewhere than they are: copied by all threads, not by
// the one that runs the region. Returns where those values live outside of the loop.
std::vector<std::pair<uint32_t, StorageId>> Planner::enterLoop(Scope& scope,
                                                               kernel::Cluster& cluster) {
  constexpr int64_t kLarge = 64 << 10;
  std::vector<std::pair<uint32_t, StorageId>> entered;
  if (cluster.nest != kernel::Nest::region) return entered;
  if (cluster.is_parallel) return startTurns(scope, cluster), entered;
  for (size_t o = 0; o < cluster.outputs.size(); ++o) {
    if (cluster.alias[o] >= 0 || m_.shape(cluster.outputs[o]).bytes() < kLarge) continue;
    std::vector<bool> starts = identityReads(m_, cluster, cluster.outputs[o]);
    for (size_t i = 0; i < starts.size(); ++i) {
      Value in = cluster.inputs[i];
      auto same = [&](Value v) { return storageOf(v) == storageOf(in); };
      if (!starts[i] || std::count_if(cluster.inputs.begin(), cluster.inputs.end(), same) > 1)
        continue;
      StorageId from = storageOf(in), to = storage_of_.at(cluster.outputs[o].index);
      copy(scope, from, to, storages_[from].bytes);
      entered.emplace_back(root(in).index, from);
      keep(root(in).index, to);
      cluster.alias[o] = static_cast<int32_t>(i);
    }
  }
  return entered;
}

// No turn may be the one that brings the arrays to where all turns have them.
void Planner::startTurns(Scope& scope, const kernel::Cluster& cluster) {
  const Op& loop = m_.op(cluster.ops.back());
  for (size_t o = 0; o < cluster.outputs.size(); ++o)
    if (m_.shape(cluster.outputs[o]).elements() != 1)
      copy(scope, storageOf(loop.operand(o)), storage_of_.at(cluster.outputs[o].index),
           m_.shape(cluster.outputs[o]).bytes());
}

// One slot for each param of the kernel.
void Planner::addKernelStep(Scope& scope, kernel::Cluster& cluster) {
  cluster.slices = slicesOf(m_, cluster);
  cluster.numbers = numbersOf(m_, cluster);
  cluster.is_alone = in_turn_ && cluster.nest == kernel::Nest::contract;
  uint32_t kernel = kernelFor(cluster);
  Step& step = addStep(scope, StepKind::kernel);
  step.target = kernel;
  step.name = nameOf(cluster);
  for (Value v : cluster.inputs) step.slots.push_back(slot(storageOf(v)));
  for (size_t o = 0; o < cluster.outputs.size(); ++o) {
    bool aliased = cluster.alias[o] >= 0;
    step.values.push_back(aliased ? cluster.alias[o] : static_cast<int64_t>(step.slots.size()));
    if (!aliased) step.slots.push_back(slot(storage_of_.at(cluster.outputs[o].index)));
  }
  const auto first_slice = static_cast<uint32_t>(step.slots.size());
  for (Value v : cluster.slices) step.slots.push_back(slot(sliceStorage(v)));
  if (!cluster.numbers.empty()) step.slots.push_back(slot(numbersStorage(cluster)));
  auto product = productParams(m_, cluster, first_slice);
  if (product && !program::writesAny(step, *product)) step.text = program::textOf(*product);
}

// For an output that updates an operand: that one's memory, where nothing reads it afterwards.
StorageId Planner::storageInPlace(Scope& scope, const kernel::Cluster& cluster, size_t output) {
  const Value made = cluster.outputs[output];
  const Op& op = *m_.def(cluster.outputs[0]);
  const Value before = op.operand(output);
  const StorageId from = storageOf(before);
  auto is_other = [&](Value v) { return !(v == before); };
  const auto wanted = scope.wanted.find(made.index);
  // A loop wants what it carries where it is already.
  const bool stays = wanted == scope.wanted.end()
                         ? storages_[from].place == Place::arena &&
                               !scope.wanted.contains(root(before).index)
                         : wanted->second == from;
  const bool read_otherwise =
      readsElsewhere(m_, cluster, op, output) || std::ranges::any_of(cluster.inputs, [&](Value v) {
        return is_other(v) && storageOf(v) == from;
      });
  if (stays && !read_otherwise && diesHere(scope, before)) return keep(made.index, from);
  ++time_;
  const StorageId to = place(scope, made, cluster, before);
  --time_;
  const bool clashes = std::ranges::any_of(cluster.inputs, [&](Value v) {
    const StorageId in = storageOf(v);
    return (is_other(v) || read_otherwise) && (in == to || in == storages_[to].argument);
  });
  return clashes ? keep(made.index, newStorage(made)) : to;
}

// The outputs take the memory of operands (which are copied there first where they live on).
Status Planner::planInPlace(Scope& scope, kernel::Cluster cluster) {
  const Op& op = *m_.def(cluster.outputs[0]);
  const size_t count = cluster.outputs.size();
  for (Value v : cluster.inputs) storageOf(v);
  for (size_t o = 0; o < count; ++o) {
    const Value before = op.operand(o);
    const StorageId from = storageOf(before), to = storageInPlace(scope, cluster, o);
    copy(scope, from, to, m_.shape(before).bytes());
  }
  if (m_.shape(op.operand(0)).elements() == 0) return Status();
  // The kernel sees the outputs' memory as params; the old operands are params only where it reads
  // them besides.
  std::erase_if(cluster.inputs, [&](Value v) {
    for (size_t o = 0; o < count; ++o)
      if (v == op.operand(o)) return !readsBesides(m_, cluster, op, o);
    return false;
  });
  cluster.alias.assign(count, -1);
  cluster.may_alias.assign(count, -1);
  noteShared(cluster);
  addKernelStep(scope, cluster);
  return Status();
}

std::string Planner::nameOf(const kernel::Cluster& cluster) const {
  std::string name;
  for (ir::OpId id : cluster.ops) {
    const Op& op = m_.op(id);
    if (isDuplicable(m_, op)) continue;
    if (name.size() >= 40) continue;
    if (!name.empty()) name += '_';
    name += ir::opName(op.kind);
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

}  // namespace tercel::plan
