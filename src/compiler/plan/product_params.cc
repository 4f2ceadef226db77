#include "compiler/plan/product_params.h"

#include <algorithm>

#include "compiler/kernel/contraction.h"
#include "compiler/plan/op_traits.h"

namespace tercel::plan {
namespace {

using ir::Op;
using ir::OpKind;
using ir::Value;

bool movesElements(const Op& op) {
  if (op.kind == OpKind::dynamic_slice_) return true;
  return isFreeMovement(op.kind) && !op.operands.empty();
}

bool multipliesMatrices(const ir::Module& m, const Op& op) {
  return op.kind == OpKind::convolution_ ||
         (op.kind == OpKind::dot_general_ && !kernel::isVectorProduct(m, op));
}

// Whether the one output is the product's, in new memory, by whatever dimensions.
bool givesSums(const ir::Module& m, const kernel::Cluster& cluster, const Op& product) {
  if (cluster.outputs.size() != 1 || cluster.alias[0] >= 0) return false;
  Value v = cluster.outputs[0];
  for (const Op* op = m.def(v); op && op->kind == OpKind::reshape_; op = m.def(v)) v = op->operand(0);
  return v == product.result() && m.shape(v).dtype == DType::f32;
}

class Finder {
 public:
  Finder(const ir::Module& module, const kernel::Cluster& cluster, uint32_t first_slice)
      : m_(module), cluster_(cluster), first_slice_(first_slice) {}

  std::optional<program::ProductSlots> paramsOf(const Op& product) const {
    program::ProductSlots found{};
    for (size_t side = 0; side < 2; ++side) {
      Value v = product.operand(side);
      auto input = m_.shape(v).dtype == DType::f32 ? paramBehind(v) : std::nullopt;
      if (!input) return {};
      found.operands[side] = *input;
    }
    return found;
  }

 private:
  std::optional<uint32_t> paramBehind(Value v) const {
    for (;;) {
      if (readsOf(v) != 1) return {};
      if (auto input = placeIn(cluster_.inputs, v)) return *input;
      if (auto slice = placeIn(cluster_.slices, v)) return first_slice_ + *slice;
      const Op* op = m_.def(v);
      if (!op || !movesElements(*op)) return {};
      v = op->operand(0);
    }
  }

  static std::optional<uint32_t> placeIn(const std::vector<Value>& list, Value v) {
    auto at = std::ranges::find(list, v);
    if (at == list.end()) return {};
    return static_cast<uint32_t>(at - list.begin());
  }

  int64_t readsOf(Value v) const {
    return readsIn(cluster_.ops, v) + std::ranges::count(cluster_.outputs, v);
  }

  int64_t readsIn(const std::vector<ir::OpId>& ops, Value v) const {
    int64_t reads = 0;
    for (ir::OpId id : ops) {
      reads += std::ranges::count(m_.op(id).operands, v);
      for (ir::RegionId region : m_.op(id).regions) reads += readsIn(m_.region(region).ops, v);
    }
    return reads;
  }

  const ir::Module& m_;
  const kernel::Cluster& cluster_;
  const uint32_t first_slice_;
};

}  // namespace

std::optional<program::ProductSlots> productParams(const ir::Module& module,
                                                   const kernel::Cluster& cluster,
                                                   uint32_t first_slice) {
  if (cluster.nest != kernel::Nest::contract) return {};
  for (ir::OpId id : cluster.ops) {
    const Op& op = module.op(id);
    if (!multipliesMatrices(module, op)) continue;
    auto found = Finder(module, cluster, first_slice).paramsOf(op);
    if (!found) continue;
    if (givesSums(module, cluster, op))
      found->sums = static_cast<uint32_t>(cluster.inputs.size());
    return found;
  }
  return {};
}

}  // namespace tercel::plan
