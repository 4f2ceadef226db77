#include "compiler/plan/captures.h"

#include <algorithm>
#include <unordered_set>

namespace tercel::plan {
namespace {

class CaptureSearch {
 public:
  explicit CaptureSearch(const ir::Module& m) : m_(m) {}

  void visit(ir::RegionId id) {
    const ir::Region& region = m_.region(id);
    for (ir::Value v : region.args) inside_.insert(v.index);
    for (ir::OpId op_id : region.ops) {
      const ir::Op& op = m_.op(op_id);
      for (ir::Value v : op.operands) read(v);
      for (ir::Value v : op.results) inside_.insert(v.index);
      for (ir::RegionId r : op.regions) visit(r);
    }
    for (ir::Value v : region.results) read(v);
  }

  std::vector<ir::Value> found;

 private:
  void read(ir::Value v) {
    if (inside_.contains(v.index)) return;
    inside_.insert(v.index);
    found.push_back(v);
  }

  const ir::Module& m_;
  std::unordered_set<uint32_t> inside_;
};

}  // namespace

std::vector<ir::Value> captures(const ir::Module& module, const ir::Op& op) {
  CaptureSearch search(module);
  for (ir::RegionId region : op.regions) search.visit(region);
  return std::move(search.found);
}

std::vector<ir::Value> readsOf(const ir::Module& m, const kernel::Unit& unit) {
  return unit.is_cluster ? unit.cluster.inputs : readsOf(m, m.op(unit.op));
}

std::vector<ir::Value> readsOf(const ir::Module& m, const ir::Op& op) {
  std::vector<ir::Value> reads(op.operands.begin(), op.operands.end());
  for (ir::Value v : captures(m, op)) reads.push_back(v);
  return reads;
}

std::span<const ir::Value> madeBy(const ir::Module& m, const kernel::Unit& unit) {
  if (unit.is_cluster) return unit.cluster.outputs;
  const ir::Op& op = m.op(unit.op);
  return {op.results.data(), op.results.size()};
}

kernel::Cluster clusterOf(const ir::Module& m, ir::OpId id, kernel::Nest nest) {
  kernel::Cluster cluster;
  cluster.nest = nest;
  cluster.ops = {id};
  const ir::Op& op = m.op(id);
  auto note = [&](ir::Value v) {
    if (std::find(cluster.inputs.begin(), cluster.inputs.end(), v) == cluster.inputs.end())
      cluster.inputs.push_back(v);
  };
  for (ir::Value v : op.operands) note(v);
  for (ir::Value v : op.results) cluster.outputs.push_back(v);
  for (ir::Value v : captures(m, op)) note(v);
  return cluster;
}

}  // namespace tercel::plan
