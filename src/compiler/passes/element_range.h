// Between which numbers an array's elements lie, by the ops that make them.
#pragma once
#include "compiler/passes/ranges.h"

namespace tercel::passes {

bool hasRange(DType type);  // an integer of at most 32 bits, or a predicate
Range rangeOfType(DType type);
Range elementRange(const Rewriter& rw, ir::Value v, int depth = 6);

}  // namespace tercel::passes
