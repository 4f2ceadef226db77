// Sums and products of integers of which only the lower bits are used: those of the operands give
// them, and a vector holds more that are narrow.
#include <algorithm>

#include "compiler/passes/constants.h"
#include "compiler/passes/expand_reduce.h"
#include "compiler/passes/lower_bits.h"
#include "compiler/passes/monoid.h"
#include "compiler/passes/rules.h"

namespace tercel::passes {
using namespace ir;
namespace {

// A constant, or what was widened from no more than `to` holds.
bool isNarrow(const Rewriter& rw, Value v, DType to) {
  if (constantOf(rw, v)) return true;
  const Op* from = rw.def(v);
  return from && widens(rw, *from, to);
}

}  // namespace

Value narrowedArithmetic(Rewriter& rw, const Op& convert) {
  const Value wide = convert.operand(0);
  const DType from = rw.shape(wide).dtype, to = rw.shape(convert.result()).dtype;
  const Op* op = rw.def(wide);
  if (!op || !isInteger(from) || !isInteger(to) || byteSize(to) >= byteSize(from)) return {};
  if (Value counted = narrowedCount(rw, *op, to); counted.valid()) return counted;
  if (rw.otherUses(wide) > 0) return {};
  auto narrow = [&](Value v) { return isNarrow(rw, v, to); };
  if (!std::ranges::all_of(op->operands, narrow)) return {};
  const OpKind kind = op->kind;
  Values operands = op->operands;
  if (kind == OpKind::reduce_ && operands.size() == 2) {
    const auto reducer = reducerKind(rw.module(), op->regions[0]);
    if (!reducer || !keepsLowerBits(*reducer)) return {};
    const Ints dimensions = op->ints(AttrKey::dimensions);
    for (Value& v : operands) v = rw.convert(v, to);
    return reduceBy(rw, *reducer, operands[0], operands[1], dimensions);
  }
  if (!keepsLowerBits(kind)) return {};
  for (Value& v : operands) v = rw.convert(v, to);
  return rw.emit(kind, operands, rw.shape(convert.result()));
}

}  // namespace tercel::passes
