#include "compiler/plan/batches.h"

#include <algorithm>

#include "compiler/ir/cut.h"
#include "compiler/plan/op_traits.h"

namespace tercel::plan {

using ir::Op;
using ir::OpKind;
using ir::Value;

double workOf(const ir::Module& m, const Op& op) {
  constexpr double kProducts = 50, kVectors = 3;  // in a nanosecond
  constexpr double kLanes = 16;
  if (op.results.size() != 1 || isFreeMovement(op.kind)) return 0;
  auto elements = static_cast<double>(m.shape(op.result()).elements());
  if (op.kind == OpKind::reduce_) elements = static_cast<double>(m.shape(op.operand(0)).elements());
  if (op.kind != OpKind::dot_general_) return elements * opWeight(m, op) / kLanes / kVectors;
  return productsOf(m, op) / kProducts;
}

Batches::Batches(const ir::Module& m, std::span<const ir::OpId> ops) : m_(m) {
  for (ir::OpId id : ops) {
    const Op& op = m.op(id);
    if (op.results.size() != 1 || m.type(op.result()).is_token) continue;
    const Dims& dims = m.shape(op.result()).dims;
    for (size_t d = 0; d < dims.size(); ++d) {
      if (dims[d] <= 1) continue;
      const auto cuts = ir::operandCuts(m, op, {static_cast<int64_t>(d), 1});
      if (!cuts) continue;
      const size_t own = number(op.result(), d);
      for (size_t i = 0; i < cuts->size(); ++i)
        if (const ir::Cut& cut = (*cuts)[i]; !cut.isWhole() && cut.unit == 1)
          join(number(op.operand(i), static_cast<size_t>(cut.dimension)), own);
      dimensions_[top(own)].work += workOf(m, op);
    }
  }
}

size_t Batches::of(Value v, size_t dimension) const {
  auto at = first_.find(v.index);
  return at == first_.end() ? kNone : top(at->second + dimension);
}

std::vector<size_t> Batches::largest() const {
  constexpr size_t kMost = 4;
  std::vector<size_t> list;
  for (size_t d = 0; d < dimensions_.size(); ++d)
    if (dimensions_[d].parent == kNone && dimensions_[d].work > 0) list.push_back(d);
  std::ranges::stable_sort(list, std::greater(), [&](size_t d) { return dimensions_[d].work; });
  if (list.size() > kMost) list.resize(kMost);
  return list;
}

size_t Batches::number(Value v, size_t dimension) {
  auto [at, fresh] = first_.try_emplace(v.index, dimensions_.size());
  if (fresh)
    for (int64_t lines : m_.shape(v).dims) dimensions_.push_back({.lines = lines});
  return at->second + dimension;
}

size_t Batches::top(size_t d) const {
  while (dimensions_[d].parent != kNone) d = dimensions_[d].parent;
  return d;
}

void Batches::join(size_t a, size_t b) {
  a = top(a);
  b = top(b);
  if (a == b) return;
  dimensions_[b].parent = a;
  dimensions_[a].work += dimensions_[b].work;
}

}  // namespace tercel::plan
