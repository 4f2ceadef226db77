#include "compiler/passes/own_work.h"

#include <unordered_map>

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

}  // namespace tercel::passes
