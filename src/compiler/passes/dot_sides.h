// The operands of a dot_general with the dimensions that its lists name.
#pragma once
#include "compiler/passes/rewriter.h"

namespace tercel::passes {

struct DotSide {
  ir::Value value;
  ir::Ints batch, contracting;

  ir::Ints free(int64_t rank) const;
};
DotSide lhsOf(const ir::Op& dot);
DotSide rhsOf(const ir::Op& dot);

// How many elements these dimensions have.
int64_t extent(const Dims& dims, const ir::Ints& of);
// list[i] becomes to[list[i]].
ir::Ints mapped(const ir::Ints& list, const ir::Ints& to);
// The side whose value has been transposed by `order`.
DotSide reordered(const DotSide& side, ir::Value transposed, const ir::Ints& order);
DotSide turned(Rewriter& rw, const DotSide& side, const ir::Ints& order);

// The attributes of `like` for other operands.
ir::Attrs dotAttrs(const ir::Op& like, const DotSide& lhs, const DotSide& rhs);
// The same product of them.
ir::Value emitDot(Rewriter& rw, const ir::Op& like, const DotSide& lhs, const DotSide& rhs,
                  Dims result);

}  // namespace tercel::passes
