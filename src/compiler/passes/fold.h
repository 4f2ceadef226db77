// Constant folding through the evaluator.
#pragma once
#include "compiler/passes/rewriter.h"

namespace tercel::passes {

// An elementwise op on splats: the splat of its value. Invalid where it is anything else.
ir::Value foldedSplat(Rewriter& rw, const ir::Op& op);

}  // namespace tercel::passes
