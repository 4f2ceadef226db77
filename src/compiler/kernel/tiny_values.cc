#include "compiler/kernel/tiny_values.h"

#include <algorithm>

namespace tercel::kernel {
namespace {

using ir::OpKind;

constexpr int kDeepest = 6;  // operations that are looked through
// Of arrays that lie in nearer caches the arithmetic takes less time than to look.
constexpr int64_t kFewestElements = 1 << 17;

bool isNumber(const ir::Module& m, ir::Value v) {
  const ir::Op* def = m.def(v);
  while (def && def->kind == OpKind::broadcast_in_dim_ && m.shape(v).rank() > 0) {
    v = def->operand(0);
    def = m.def(v);
  }
  if (m.shape(v).rank() == 0) return true;
  return def && def->kind == OpKind::constant_ && def->literal().isSplat();
}

bool isInput(const Cluster& cluster, ir::Value v) {
  return std::ranges::find(cluster.inputs, v) != cluster.inputs.end() ||
         std::ranges::find(cluster.slices, v) != cluster.slices.end();
}

// x + 1 and the like: by it, x gives a share that is seldom tiny, as a logistic written out.
bool isPartOf(const ir::Module& m, ir::Value x, ir::Value sum) {
  const ir::Op* def = m.def(sum);
  return def && def->kind == OpKind::add_ && (def->operand(0) == x || def->operand(1) == x);
}

bool isExponential(const ir::Module& m, ir::Value v) {
  const ir::Op* def = m.def(v);
  if (!def) return false;
  return def->kind == OpKind::exponential_ ||
         (def->kind == OpKind::divide_ && isExponential(m, def->operand(0)) &&
          !isPartOf(m, def->operand(0), def->operand(1)));
}

// Whether `v` is a state that decays, or that state multiplied and divided.
bool isOfDecay(const ir::Module& m, const Cluster& cluster, ir::Value v, int depth = 0) {
  const ir::Op* def = depth < kDeepest ? m.def(v) : nullptr;
  if (!def) return false;
  auto of = [&](size_t operand) { return isOfDecay(m, cluster, def->operand(operand), depth + 1); };
  switch (def->kind) {
    case OpKind::multiply_: case OpKind::multiply_add_:
      return isDecay(m, cluster, *def) || of(0) || of(1);
    case OpKind::divide_: return of(0);
    case OpKind::add_: return of(0) || of(1);
    default: return false;
  }
}

}  // namespace

bool mayBeTiny(const ir::Module& m, const Cluster* cluster, ir::Value v) {
  return isExponential(m, v) || (cluster && isOfDecay(m, *cluster, v));
}

bool isDecay(const ir::Module& m, const Cluster& cluster, const ir::Op& op) {
  if (m.shape(op.result()).elements() < kFewestElements) return false;
  auto isStateByNumber = [&](size_t side) {
    return isInput(cluster, op.operand(side)) && isNumber(m, op.operand(1 - side));
  };
  if (!isStateByNumber(0) && !isStateByNumber(1)) return false;
  return std::ranges::any_of(cluster.outputs, [&](ir::Value v) {
    if (v == op.result()) return true;
    const ir::Op* def = m.def(v);
    if (!def) return false;
    switch (def->kind) {
      case OpKind::add_: case OpKind::subtract_:
        return def->operand(0) == op.result() || def->operand(1) == op.result();
      case OpKind::multiply_add_: return def->operand(2) == op.result();
      default: return false;
    }
  });
}

}  // namespace tercel::kernel
