// Products of integers that are narrower than their type says: the narrow ones are multiplied, of
// which a vector holds more, and which machines add up several products of at a time.
#include <algorithm>
#include <array>

#include "compiler/passes/element_range.h"
#include "compiler/passes/rules.h"

namespace tercel::passes {
using namespace ir;
namespace {

// The first that holds all numbers of a range; `type` itself where none is narrower.
DType narrowest(Range range, DType type) {
  for (DType narrow : {DType::s8, DType::u8, DType::s16}) {
    Range all = rangeOfType(narrow);
    bool holds = all.low <= range.low && range.high <= all.high;
    if (holds && byteSize(narrow) < byteSize(type)) return narrow;
  }
  return type;
}

// How many operands of an op that moves elements are elements; the others say where.
size_t movedOperands(const Op& op) {
  switch (op.kind) {
    case OpKind::broadcast_in_dim_:
    case OpKind::dynamic_slice_:
    case OpKind::gather_:
    case OpKind::reshape_:
    case OpKind::reverse_:
    case OpKind::slice_:
    case OpKind::transpose_:
      return 1;
    case OpKind::concatenate_:
    case OpKind::pad_:
      return op.operands.size();
    default:
      return 0;
  }
}

// v, all of whose numbers the type has: converted ahead of what moves them for this use alone.
Value convertedAhead(Rewriter& rw, Value v, DType type, uint32_t own_uses = 0) {
  const Op* op = rw.def(v);
  const size_t moved = op && rw.otherUses(v) <= own_uses ? movedOperands(*op) : 0;
  if (moved == 0) return rw.convert(v, type);
  const OpKind kind = op->kind;
  const Attrs attrs = op->attrs;
  Values operands = op->operands;
  for (size_t i = 0; i < moved; ++i) operands[i] = convertedAhead(rw, operands[i], type, 1);
  return rw.emit(kind, operands, {type, rw.shape(v).dims}, attrs);
}

}  // namespace

Value canonicalProduct(Rewriter& rw, const Op& op) {
  if (!isInteger(rw.shape(op.result()).dtype)) return {};
  std::array<DType, 2> types;
  bool any = false, all = true;
  for (size_t i : {0, 1}) {
    DType type = rw.shape(op.operand(i)).dtype;
    if (!hasRange(type) || byteSize(type) > 4) return {};
    types[i] = narrowest(ElementRanges().of(rw, op.operand(i)), type);
    any |= types[i] != type;
    all &= byteSize(types[i]) <= 2;
  }
  if (!any || !all) return {};
  const OpKind kind = op.kind;
  const Attrs attrs = op.attrs;
  const Values from = op.operands;
  const Shape result = rw.shape(op.result());
  Values operands{convertedAhead(rw, from[0], types[0]), convertedAhead(rw, from[1], types[1])};
  return rw.emit(kind, operands, result, attrs);
}

}  // namespace tercel::passes
