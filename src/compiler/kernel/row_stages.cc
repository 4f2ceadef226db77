#include "compiler/kernel/row_stages.h"

#include <algorithm>
#include <unordered_set>

namespace tercel::kernel {
namespace {

using ir::AttrKey;
using ir::isCostly;
using ir::Op;
using ir::OpKind;
using ir::Value;

}  // namespace

RowStages::RowStages(const ir::Module& module, const Cluster& cluster)
    : m_(module), cluster_(cluster) {
  for (size_t i = 0; i < cluster_.ops.size(); ++i) {
    int depth = 0;
    for (Value v : op(i).operands) depth = std::max(depth, depthOf(v));
    if (op(i).kind == OpKind::reduce_) {
      stages_ = std::max(stages_, ++depth);
      reductions_.push_back(i);
    }
    for (Value v : op(i).results) depth_[v.index] = depth;
  }
  for (Value v : cluster_.outputs) {
    bool full = m_.shape(v).dims == cluster_.domain || isReshaped(v);
    full_output_.push_back(full);
    if (full) stages_ = std::max(stages_, depthOf(v) + 1);
  }
  by_stage_.resize(static_cast<size_t>(stages_));
  for (size_t r : reductions_) by_stage_[static_cast<size_t>(stageOf(r))].push_back(r);
}

// Whether a value has an element for each place of the domain, but other dimensions.
bool RowStages::isReshaped(Value v) const {
  return depthOf(v) == 0 && m_.shape(v).elements() == elementCount(cluster_.domain);
}

int RowStages::depthOf(Value v) const {
  auto at = depth_.find(v.index);
  return at == depth_.end() ? 0 : at->second;
}

int RowStages::outputStage(size_t output) const {
  return full_output_[output] ? stages_ - 1 : depthOf(cluster_.outputs[output]);
}

size_t RowStages::accumulators() const {
  size_t most = 0;
  for (const auto& stage : by_stage_) {
    size_t count = 0;
    for (size_t r : stage) count += op(r).results.size();
    most = std::max(most, count);
  }
  return most;
}

Indices RowStages::operandIndices(size_t reduction, const Indices& domain) const {
  const Op& o = op(reduction);
  const auto& reduced = o.ints(AttrKey::dimensions);
  const auto& map = cluster_.maps[reduction];
  Indices indices;
  size_t kept = 0, next = 0;
  size_t rank = m_.shape(o.operand(0)).dims.size();
  for (size_t d = 0; d < rank; ++d) {
    if (std::ranges::find(reduced, static_cast<int64_t>(d)) == reduced.end()) {
      int32_t from = map[kept++];
      indices.push_back(from < 0 ? Index(0) : domain[static_cast<size_t>(from)]);
      continue;
    }
    while (!cluster_.reduced[next]) ++next;
    indices.push_back(domain[next++]);
  }
  return indices;
}

Indices RowStages::mappedIndices(size_t i, const Indices& domain) const {
  Indices indices;
  for (int32_t d : cluster_.maps[i])
    indices.push_back(d < 0 ? Index(0) : domain[static_cast<size_t>(d)]);
  return indices;
}

Indices RowStages::outputIndices(size_t output, const Indices& domain) const {
  if (full_output_[output]) return domain;
  Indices indices;
  for (size_t d = 0; d < domain.size(); ++d)
    if (!cluster_.reduced[d]) indices.push_back(domain[d]);
  return indices;
}

// What is costly, or moves what is: padded, joined, gathered, reversed.
std::vector<bool> RowStages::costlyPlaces() const {
  std::vector<bool> costly(cluster_.ops.size());
  std::unordered_set<uint32_t> moved;  // costly at places of its own
  for (size_t i = 0; i < cluster_.ops.size(); ++i) {
    const Op& o = op(i);
    if (o.results.size() != 1 || o.kind == OpKind::reduce_) continue;
    const bool is_costly = isCostly(o.kind) || std::ranges::any_of(o.operands, [&](Value v) {
      return moved.contains(v.index);
    });
    costly[i] = is_costly && isFull(i);
    const bool has_places = cluster_.maps[i].empty() && m_.shape(o.result()).rank() > 0;
    if (is_costly && has_places) moved.insert(o.result().index);
  }
  return costly;
}

std::vector<RowStages::Reused> RowStages::reused() const {
  std::vector<Reused> list;
  const std::vector<bool> costly = costlyPlaces();
  for (size_t i = 0; i < cluster_.ops.size(); ++i) {
    if (!costly[i]) continue;
    Value v = op(i).result();
    int first = stages_, last = -1;
    auto note = [&](int stage) {
      first = std::min(first, stage);
      last = std::max(last, stage);
    };
    for (size_t r : reductions_)
      if (needs(op(r).operand(0), v, 0)) note(stageOf(r));
    for (size_t o = 0; o < cluster_.outputs.size(); ++o)
      if (needs(cluster_.outputs[o], v, 0)) note(outputStage(o));
    if (first < last) list.push_back({i, first});
  }
  return list;
}

bool RowStages::sumsProducts(int stage) const {
  return std::ranges::any_of(reductionsOf(stage), [&](size_t r) {
    const Op* def = m_.def(op(r).operand(0));
    while (def && def->kind == OpKind::reshape_) def = m_.def(def->operand(0));
    return def && def->kind == OpKind::multiply_ && def->operand(0) != def->operand(1) &&
           m_.shape(def->result()).dtype == DType::f32;
  });
}

bool RowStages::sumsProducts() const {
  for (int stage = 0; stage < stages_; ++stage)
    if (sumsProducts(stage)) return true;
  return false;
}

bool RowStages::computesCostly(int stage) const {
  for (size_t i = 0; i < cluster_.ops.size(); ++i) {
    if (!isCostly(op(i).kind) || op(i).results.size() != 1 || !isFull(i)) continue;
    auto feeds = [&](size_t r) { return needs(op(r).operand(0), op(i).result(), 0); };
    auto is_earlier = [&](size_t r) { return stageOf(r) < stage && feeds(r); };
    if (std::ranges::any_of(reductionsOf(stage), feeds) &&
        std::ranges::none_of(reductions_, is_earlier))
      return true;
  }
  return false;
}

bool RowStages::isFull(size_t i) const {
  const auto& map = cluster_.maps[i];
  for (size_t d = 0; d < cluster_.domain.size(); ++d)
    if (cluster_.reduced[d] && cluster_.domain[d] > 1 &&
        std::ranges::find(map, static_cast<int32_t>(d)) == map.end())
      return false;
  return map.size() == m_.shape(op(i).result()).dims.size();
}

// Whether computing `v` at a place of the row evaluates `what` there.
bool RowStages::needs(Value v, Value what, int level) const {
  if (v == what) return true;
  const Op* o = m_.def(v);
  if (!o || level > 32 || o->kind == OpKind::reduce_ || !depth_.contains(v.index)) return false;
  return std::ranges::any_of(o->operands,
                             [&](Value operand) { return needs(operand, what, level + 1); });
}

}  // namespace tercel::kernel
