// Element work that only a slice reads is done on slices of what it reads.
#include "compiler/passes/own_work.h"
#include "compiler/passes/rules.h"

namespace tercel::passes {
using namespace ir;

Value computeAfterSlice(Rewriter& rw, const Op& op) {
  const Op slice = op;
  const std::vector<OpId> work = ownWork(rw, {slice.operand(0)});
  if (work.empty()) return {};
  const Dims dims = rw.shape(slice.result()).dims;
  WorkAnew anew(rw, work, dims, [&](Value v) {
    Values operands = slice.operands;
    operands[0] = v;
    return rw.emit(slice.kind, operands, {rw.shape(v).dtype, dims}, Attrs(slice.attrs));
  });
  return anew.of(slice.operand(0));
}

}  // namespace tercel::passes
