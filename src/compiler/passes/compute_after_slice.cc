// Element work that only a slice reads is done on slices of what it reads.
#include <unordered_map>

#include "compiler/passes/own_work.h"
#include "compiler/passes/rules.h"

namespace tercel::passes {
using namespace ir;
namespace {

class AfterSlice {
 public:
  AfterSlice(Rewriter& rw, const Op& slice) : rw_(rw), slice_(slice) {}

  Value run() {
    const Value whole = slice_.operand(0);
    const std::vector<OpId> work = ownWork(rw_, {whole});
    if (work.empty()) return {};
    for (OpId id : work) rw_.abandon(rw_.op(id));
    for (size_t i = work.size(); i-- > 0;) compute(work[i]);
    return sliced_.at(whole.index);
  }

 private:
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
  std::unordered_map<uint32_t, Value> sliced_;
};

}  // namespace

Value computeAfterSlice(Rewriter& rw, const Op& slice) { return AfterSlice(rw, slice).run(); }

}  // namespace tercel::passes
