// Element work that only a slice reads is done on slices of what it reads.
#include <unordered_map>

#include "compiler/passes/rules.h"

namespace tercel::passes {
using namespace ir;
namespace {

class AfterSlice {
 public:
  AfterSlice(Rewriter& rw, const Op& slice) : rw_(rw), slice_(slice) {}

  Value run() {
    const Value whole = slice_.operand(0);
    if (rw_.otherUses(whole) > 0 || !isWork(whole)) return {};
    find(whole);
    for (OpId id : work_) rw_.abandon(rw_.op(id));
    for (size_t i = work_.size(); i-- > 0;) compute(work_[i]);
    return sliced_.at(whole.index);
  }

 private:
  bool isWork(Value v) const {
    const Op* op = rw_.def(v);
    return op && op->results.size() == 1 && rw_.isMadeHere(v) && actsElementByElement(rw_, *op);
  }

  // Each op after all of its readers.
  void find(Value whole) {
    std::unordered_map<uint32_t, uint32_t> reads;
    work_.push_back(rw_.module().value(whole).def);
    for (size_t i = 0; i < work_.size(); ++i)
      for (Value v : rw_.op(work_[i]).operands)
        if (++reads[v.index] == rw_.otherUses(v) && isWork(v))
          work_.push_back(rw_.module().value(v).def);
  }

  Value sliced(Value v) {
    if (auto known = sliced_.find(v.index); known != sliced_.end()) return known->second;
    Values operands = slice_.operands;
    operands[0] = v;
    const Shape part{rw_.shape(v).dtype, rw_.shape(slice_.result()).dims};
    return sliced_[v.index] = rw_.emit(slice_.kind, operands, part, Attrs(slice_.attrs));
  }

  void compute(OpId id) {
    const Op op = rw_.op(id);
    Values operands;
    for (Value v : op.operands)
      operands.push_back(rw_.shape(v).dims == rw_.shape(op.result()).dims ? sliced(v) : v);
    const Shape part{rw_.shape(op.result()).dtype, rw_.shape(slice_.result()).dims};
    sliced_[op.result().index] = rw_.emit(op.kind, operands, part, Attrs(op.attrs));
  }

  Rewriter& rw_;
  const Op slice_;
  std::vector<OpId> work_;
  std::unordered_map<uint32_t, Value> sliced_;
};

}  // namespace

bool actsElementByElement(const Rewriter& rw, const Op& op) {
  if (!isElementwise(op.kind) || op.kind == OpKind::map_) return false;
  return op.kind != OpKind::bitcast_convert_ ||
         rw.shape(op.operand(0)).dims == rw.shape(op.result()).dims;
}

Value computeAfterSlice(Rewriter& rw, const Op& slice) { return AfterSlice(rw, slice).run(); }

}  // namespace tercel::passes
