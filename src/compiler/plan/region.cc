#include "compiler/plan/region.h"

#include <algorithm>

#include "compiler/ir/parallel_loop.h"
#include "compiler/plan/captures.h"
#include "compiler/plan/fuse.h"
#include "compiler/plan/op_traits.h"
#include "compiler/plan/region_memory.h"

namespace tercel::plan {
namespace {

using ir::Op;
using ir::OpId;
using ir::OpKind;
using ir::Value;

constexpr int64_t kMaxOps = 2400;  // on single elements; one on an array counts as kArrayOps
constexpr int64_t kArrayOps = 4;
constexpr int64_t kMaxElements = 2048;      // of an array made in a loop
constexpr int64_t kMaxScratch = 128 << 10;  // elements in all
constexpr double kMaxProducts = 200e3;      // of one dot

bool isControl(OpKind kind) {
  return kind == OpKind::while_ || kind == OpKind::if_ || kind == OpKind::case_;
}

class Inspection {
 public:
  explicit Inspection(const ir::Module& m) : m_(m) {}

  bool fits(const Op& op) {
    for (Value v : op.operands)
      if (m_.type(v).is_token) return false;
    for (ir::RegionId r : op.regions)
      if (!fitsRegion(r)) return false;
    return ops_ <= kMaxOps && scratch_ <= kMaxScratch;
  }

  std::vector<Value> constants;  // that live in memory

 private:
  bool fitsRegion(ir::RegionId id) {
    for (OpId o : m_.region(id).ops) {
      const Op& op = m_.op(o);
      const bool is_array = !op.results.empty() && m_.shape(op.result()).elements() > 1;
      ops_ += is_array ? kArrayOps : 1;
      if (ops_ > kMaxOps) return false;
      if (isMemoryConstant(op)) {
        constants.push_back(op.result());
        continue;
      }
      if (!fitsInside(op)) return false;
      if (isFreeMovement(op.kind)) continue;
      for (Value v : op.results)
        if (!resultFits(op, v)) return false;
    }
    return true;
  }

  // What is updated or carried may be large: whether it is copied is for shareMemory to find out.
  bool resultFits(const Op& op, Value v) {
    if (m_.type(v).is_token) return false;
    int64_t elements = m_.shape(v).elements();
    bool in_place = isControl(op.kind) || updatesInPlace(op.kind);
    if (elements == 0 || (elements > kMaxElements && !in_place)) return false;
    scratch_ += std::min(elements, kMaxElements);
    return true;
  }

  bool fitsInside(const Op& op) {
    if (isControl(op.kind)) return fits(op);
    if (op.kind == OpKind::scatter_) return scatterFits(op);
    if (!isFusible(m_, op)) return false;
    if (op.kind == OpKind::convolution_) return false;
    for (Value v : op.operands)
      if (op.kind == OpKind::reduce_ && m_.shape(v).elements() > 16 * kMaxElements) return false;
    return op.kind != OpKind::dot_general_ || productsOf(m_, op) <= kMaxProducts;
  }

  // Single elements have no memory to scatter into.
  bool scatterFits(const Op& op) const {
    for (size_t o = 0; o < op.results.size(); ++o)
      if (m_.shape(op.result(o)).elements() <= 1) return false;
    return m_.shape(op.operands.back()).elements() <= kMaxElements;
  }

  const ir::Module& m_;
  int64_t ops_ = 0;
  int64_t scratch_ = 0;
};

template <class T>
void noteOnce(std::vector<T>& list, T entry) {
  if (std::find(list.begin(), list.end(), entry) == list.end()) list.push_back(entry);
}

void collectUnits(const ir::Module& m, const Op& op, kernel::Cluster& cluster) {
  for (ir::RegionId r : op.regions) {
    cluster.regions.push_back({r, fuse(m, r)});
    for (OpId inner : m.region(r).ops)
      if (isControl(m.op(inner).kind)) collectUnits(m, m.op(inner), cluster);
  }
}

// Whether each array that the loop carries takes its own memory again.
bool staysInPlace(const ir::Module& m, const kernel::Cluster& cluster) {
  const ir::Region& body = m.region(m.op(cluster.ops.back()).regions[1]);
  for (size_t i = 0; i < body.args.size(); ++i) {
    Value v = body.results[i];
    for (auto at = cluster.shares.begin(); at != cluster.shares.end();) {
      at = std::ranges::find(cluster.shares, v, &std::pair<Value, Value>::first);
      if (at != cluster.shares.end()) v = at->second;
    }
    if (m.shape(v).elements() != 1 && v != body.args[i]) return false;
  }
  return true;
}

}  // namespace

std::optional<kernel::Cluster> regionCluster(const ir::Module& m, OpId id) {
  const Op& op = m.op(id);
  if (!isControl(op.kind)) return std::nullopt;
  Inspection inspection(m);
  if (!inspection.fits(op)) return std::nullopt;
  kernel::Cluster cluster;
  cluster.nest = kernel::Nest::region;
  // Numbers that stand outside come in as code: a division by a known one is no division.
  auto note = [&](Value v) {
    const Op* def = m.def(v);
    if (def && def->kind == OpKind::constant_ && m.shape(v).elements() == 1)
      noteOnce(cluster.ops, m.value(v).def);
    else
      noteOnce(cluster.inputs, v);
  };
  for (Value v : op.operands) note(v);
  for (Value v : captures(m, op)) note(v);
  for (Value v : inspection.constants) note(v);
  for (Value v : op.results) cluster.outputs.push_back(v);
  cluster.ops.push_back(id);
  collectUnits(m, op, cluster);
  if (shareMemory(m, cluster) > kMaxElements) return std::nullopt;
  cluster.is_parallel = ir::parallelLoop(m, op) && staysInPlace(m, cluster);
  return cluster;
}

}  // namespace tercel::plan
