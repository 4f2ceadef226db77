#include "compiler/passes/own_work.h"

#include <ranges>
#include <utility>

namespace tercel::passes {
using namespace ir;

bool actsElementByElement(const Rewriter& rw, const Op& op) {
  if (!isElementwise(op.kind) || op.kind == OpKind::map_) return false;
  return op.kind != OpKind::bitcast_convert_ ||
         rw.shape(op.operand(0)).dims == rw.shape(op.result()).dims;
}

std::vector<OpId> ownWork(const Rewriter& rw, const Values& results) {
  std::vector<OpId> work;
  std::unordered_map<uint32_t, uint32_t> reads;
  auto note = [&](Value v) {
    if (reads[v.index] != rw.otherUses(v)) return;
    const Op* op = rw.def(v);
    if (op && op->results.size() == 1 && rw.isMadeHere(v) && actsElementByElement(rw, *op))
      work.push_back(rw.module().value(v).def);
  };
  for (Value v : results) note(v);
  for (size_t i = 0; i < work.size(); ++i)
    for (Value v : rw.op(work[i]).operands) {
      ++reads[v.index];
      note(v);
    }
  return work;
}

WorkAnew::WorkAnew(Rewriter& rw, const std::vector<OpId>& work, const Dims& dims, Outside outside)
    : rw_(rw), outside_(std::move(outside)) {
  for (OpId id : work) rw.abandon(rw.op(id));
  for (OpId id : work | std::views::reverse) {
    const Op op = rw.op(id);
    Values operands;
    for (Value v : op.operands) operands.push_back(of(v));
    made_[op.result().index] =
        rw.emit(op.kind, operands, {rw.shape(op.result()).dtype, dims}, Attrs(op.attrs));
  }
}

Value WorkAnew::of(Value v) {
  if (rw_.shape(v).rank() == 0) return v;
  if (auto known = made_.find(v.index); known != made_.end()) return known->second;
  return made_[v.index] = outside_(v);
}

}  // namespace tercel::passes
