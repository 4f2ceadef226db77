// Sorts as steps: how the array is cut into rows, what the comparator compares, what is read of it.
#include <algorithm>

#include "compiler/plan/comparator_keys.h"
#include "compiler/plan/planner.h"

namespace tercel::plan {
namespace {

using ir::AttrKey;
using ir::Op;
using ir::OpKind;
using ir::Value;
using program::Step;
using program::StepKind;

// Elements from the front of each row that a user of the result reads, all of them if unknown.
int64_t readBy(const ir::Module& m, const Op& user, Value result, size_t dimension) {
  int64_t length = m.shape(result).dims[dimension];
  for (Value v : captures(m, user))
    if (v == result) return length;
  if (std::find(user.operands.begin(), user.operands.end(), result) == user.operands.end())
    return 0;
  bool front = user.kind == OpKind::slice_ && user.ints(AttrKey::start_indices)[dimension] == 0 &&
               user.ints(AttrKey::strides)[dimension] == 1;
  return front ? user.ints(AttrKey::limit_indices)[dimension] : length;
}

int64_t keptOf(const ir::Module& m, const ir::Region& region, const Op& sort, size_t dimension) {
  if (m.shape(sort.result()).dims.empty()) return 1;
  int64_t kept = 0;
  for (Value result : sort.results) {
    for (Value v : region.results)
      if (v == result) return m.shape(v).dims[dimension];
    for (ir::OpId id : region.ops)
      kept = std::max(kept, readBy(m, m.op(id), result, dimension));
  }
  return kept;
}

}  // namespace

Status Planner::planSort(Scope& scope, const Op& op) {
  const Dims& dims = m_.shape(op.operand(0)).dims;
  int64_t dimension = op.integer(AttrKey::dimension);
  if (dimension < 0) dimension += static_cast<int64_t>(dims.size());
  int64_t outer = 1, inner = 1;
  for (int64_t d = 0; d < static_cast<int64_t>(dims.size()); ++d)
    (d < dimension ? outer : inner) *= d == dimension ? 1 : dims[static_cast<size_t>(d)];
  std::vector<uint32_t> from, to;
  for (Value v : op.operands) storageOf(v);
  uint32_t comparator =
      kernelFor(clusterOf(m_, scope.units[scope.unit].op, kernel::Nest::comparator));
  Step& step = addStep(scope, StepKind::sort);
  step.name = "sort";
  step.text = print(comparatorKeys(m_, op));
  step.target = comparator;
  step.values = {outer, dims.empty() ? 1 : dims[static_cast<size_t>(dimension)], inner,
                 keptOf(m_, m_.region(scope.region), op, static_cast<size_t>(dimension))};
  for (Value v : op.operands)
    step.values.push_back(static_cast<int64_t>(byteSize(m_.shape(v).dtype)));
  for (Value v : op.operands) step.slots.push_back(slot(storageOf(v)));
  for (Value v : op.results) step.slots.push_back(slot(place(scope, v, {})));
  return Status();
}

}  // namespace tercel::plan
