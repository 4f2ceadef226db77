#include "compiler/plan/region.h"

#include <algorithm>
#include <unordered_map>

#include "compiler/plan/captures.h"
#include "compiler/plan/fuse.h"
#include "compiler/plan/op_traits.h"

namespace tercel::plan {
namespace {

using ir::AttrKey;
using ir::Op;
using ir::OpId;
using ir::OpKind;
using ir::Value;

constexpr size_t kMaxOps = 240;
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
    if (op.kind == OpKind::while_ && !carriesWell(op)) return false;
    for (ir::RegionId r : op.regions)
      if (!fitsRegion(r)) return false;
    return ops_ <= kMaxOps && scratch_ <= kMaxScratch;
  }

  std::vector<Value> constants;  // that live in memory

 private:
  bool fitsRegion(ir::RegionId id) {
    const ir::Region& region = m_.region(id);
    std::unordered_map<uint32_t, int> uses;
    for (OpId o : region.ops)
      for (Value v : m_.op(o).operands) ++uses[v.index];
    for (OpId o : region.ops) {
      const Op& op = m_.op(o);
      if (++ops_ > kMaxOps) return false;
      if (isMemoryConstant(op)) {
        constants.push_back(op.result());
        continue;
      }
      if (op.kind == OpKind::dynamic_update_slice_ && uses[op.operand(0).index] == 1) continue;
      if (!fitsInside(op)) return false;
      for (Value v : op.results) {
        if (m_.type(v).is_token) return false;
        int64_t elements = m_.shape(v).elements();
        if (isFreeMovement(op.kind)) continue;
        if (elements > kMaxElements || elements == 0) return false;
        scratch_ += elements;
      }
    }
    return true;
  }

  bool fitsInside(const Op& op) {
    if (isControl(op.kind)) return fits(op);
    if (!isFusible(m_, op)) return op.kind == OpKind::reshape_;
    if (op.kind == OpKind::convolution_) return false;
    for (Value v : op.operands)
      if (op.kind == OpKind::reduce_ && m_.shape(v).elements() > 16 * kMaxElements) return false;
    if (op.kind != OpKind::dot_general_) return true;
    double products = static_cast<double>(m_.shape(op.result()).elements());
    for (int64_t d : op.ints(AttrKey::lhs_contracting_dimensions))
      products *= static_cast<double>(m_.shape(op.operand(0)).dims[static_cast<size_t>(d)]);
    return products <= kMaxProducts;
  }

  // A large array is carried only by updating it in place.
  bool carriesWell(const Op& op) const {
    const ir::Region& body = m_.region(op.regions[1]);
    for (size_t i = 0; i < body.args.size(); ++i) {
      if (m_.shape(body.args[i]).elements() <= kMaxElements) continue;
      if (body.results[i] == body.args[i]) continue;
      const Op* made = m_.def(body.results[i]);
      if (!made || made->kind != OpKind::dynamic_update_slice_ ||
          !(made->operand(0) == body.args[i]))
        return false;
    }
    return true;
  }

  const ir::Module& m_;
  size_t ops_ = 0;
  int64_t scratch_ = 0;
};

void collectUnits(const ir::Module& m, const Op& op, kernel::Cluster& cluster) {
  for (ir::RegionId r : op.regions) {
    cluster.regions.push_back({r, fuse(m, r)});
    for (OpId inner : m.region(r).ops)
      if (isControl(m.op(inner).kind)) collectUnits(m, m.op(inner), cluster);
  }
}

}  // namespace

std::optional<kernel::Cluster> regionCluster(const ir::Module& m, OpId id) {
  const Op& op = m.op(id);
  if (!isControl(op.kind)) return std::nullopt;
  Inspection inspection(m);
  if (!inspection.fits(op)) return std::nullopt;
  kernel::Cluster cluster;
  cluster.nest = kernel::Nest::region;
  cluster.ops = {id};
  auto note = [&](Value v) {
    if (std::find(cluster.inputs.begin(), cluster.inputs.end(), v) == cluster.inputs.end())
      cluster.inputs.push_back(v);
  };
  for (Value v : op.operands) note(v);
  for (Value v : captures(m, op)) note(v);
  for (Value v : inspection.constants) note(v);
  for (Value v : op.results) cluster.outputs.push_back(v);
  collectUnits(m, op, cluster);
  return cluster;
}

}  // namespace tercel::plan
