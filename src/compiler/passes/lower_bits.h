// Integer arithmetic of which only the lower bits are wanted.
#pragma once
#include "compiler/passes/rewriter.h"

namespace tercel::passes {

// Whether the lower bits of the result follow from those of the operands.
inline bool keepsLowerBits(ir::OpKind kind) {
  using ir::OpKind;
  switch (kind) {
    case OpKind::add_: case OpKind::and_: case OpKind::multiply_: case OpKind::negate_:
    case OpKind::not_: case OpKind::or_: case OpKind::subtract_: case OpKind::xor_:
      return true;
    default:
      return false;
  }
}

// Whether an op widens integers or flags that have no more bits than `to`.
inline bool widens(const Rewriter& rw, const ir::Op& op, DType to) {
  if (op.kind != ir::OpKind::convert_) return false;
  const DType from = rw.shape(op.operand(0)).dtype;
  return (isInteger(from) || isPred(from)) && byteSize(from) <= byteSize(to);
}

}  // namespace tercel::passes
