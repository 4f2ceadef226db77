// Reductions that leave few elements of many, cut so that the cores can share them.
#pragma once
#include "compiler/passes/rewriter.h"

namespace tercel::passes {

// A reduce of v over `dimensions`, its body being one op.
ir::Value reduceBy(Rewriter& rw, ir::OpKind kind, ir::Value v, ir::Value init, ir::Ints dimensions);

// A region of two scalars that returns `kind` of them.
ir::RegionId reducerOf(Rewriter& rw, ir::OpKind kind, DType dtype);
// Whether the init value, a constant, may enter more than once.
bool isRepeatable(const Rewriter& rw, ir::OpKind kind, ir::Value init);

// True: the op's result is replaced by that of two reductions, the first one in parts that are
// independent. The cut depends on the shape alone, and so do the bits of a sum.
bool splitReduce(Rewriter& rw, ir::OpId id);

// expand_pairs.cc. True: a reduction along short rows of what is made of all pairs of some small
// arrays' rows goes along the other side of the pairs, which fill vectors as they lie.
bool turnPairs(Rewriter& rw, ir::OpId id);

// True: the result of a reduction of an array of few columns over its rows is replaced by that of
// two, the first one of rows side by side, which fill vectors.
bool fillColumns(Rewriter& rw, ir::OpId id);

}  // namespace tercel::passes
