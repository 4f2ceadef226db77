#include "compiler/plan/identity_reads.h"

#include <algorithm>
#include <unordered_map>

#include "compiler/ir/readings.h"
#include "compiler/plan/captures.h"

namespace tercel::plan {
namespace {

enum class Read : uint8_t { none, identity, other };

// A loop may carry its result where the operand is that only starts it.
std::vector<bool> loopReads(const ir::Module& m, const kernel::Cluster& cluster, ir::Value output) {
  std::vector<bool> result(cluster.inputs.size(), false);
  const ir::Op& op = m.op(cluster.ops.back());
  if (op.kind != ir::OpKind::while_) return result;
  std::vector<ir::Value> captured = captures(m, op);
  ir::Value start = op.operand(m.value(output).index);
  bool once = std::count(op.operands.begin(), op.operands.end(), start) == 1 &&
              std::find(captured.begin(), captured.end(), start) == captured.end();
  for (size_t i = 0; i < result.size(); ++i) result[i] = once && cluster.inputs[i] == start;
  return result;
}

}  // namespace

std::vector<bool> identityReads(const ir::Module& m, const kernel::Cluster& cluster,
                                ir::Value output) {
  std::vector<bool> result(cluster.inputs.size(), false);
  if (cluster.nest == kernel::Nest::region) return loopReads(m, cluster, output);
  if (cluster.nest != kernel::Nest::loop || cluster.outputs.empty()) return result;
  const Dims& domain = m.shape(cluster.outputs[0]).dims;
  std::unordered_map<uint32_t, Read> reads;
  for (ir::Value v : cluster.outputs)
    reads[v.index] = m.shape(v).dims == domain ? Read::identity : Read::other;
  for (size_t i = cluster.ops.size(); i-- > 0;) {
    const ir::Op& op = m.op(cluster.ops[i]);
    Read own = Read::none;
    for (ir::Value v : op.results) own = std::max(own, reads[v.index]);
    for (ir::Value v : op.operands) {
      bool same = own == Read::identity && ir::isElementwise(op.kind) &&
                  op.kind != ir::OpKind::map_ && m.shape(v).dims == domain;
      Read& read = reads[v.index];
      read = std::max(read, same ? Read::identity : Read::other);
    }
    if (!op.regions.empty()) return result;  // captures: not looked into
  }
  for (size_t i = 0; i < cluster.inputs.size(); ++i)
    result[i] = reads[cluster.inputs[i].index] == Read::identity;
  return result;
}

bool readsBesides(const ir::Module& m, const kernel::Cluster& cluster, const ir::Op& op, size_t o) {
  ir::Value v = op.operand(o);
  for (ir::OpId id : cluster.ops) {
    const ir::Op& other = m.op(id);
    for (size_t k = 0; k < other.operands.size(); ++k)
      if (other.operand(k) == v && !(other.result() == op.result() && k == o)) return true;
  }
  return false;
}

bool readsElsewhere(const ir::Module& m, const kernel::Cluster& cluster, const ir::Op& op,
                    size_t o) {
  if (op.kind != ir::OpKind::dynamic_update_slice_) return readsBesides(m, cluster, op, o);
  ir::Readings readings(m, op.operand(0));
  for (ir::OpId id : cluster.ops)
    if (m.op(id).result() != op.result()) readings.add(m.op(id));
  return !readings.updatesWhereItReads(op);
}

}  // namespace tercel::plan
