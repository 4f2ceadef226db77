// Loops over a batch, each of whose rows goes through all turns without the others: a loop over
// slices of the batch around them, whose turns run at once and stay in the cache.
#pragma once
#include "compiler/ir/module.h"

namespace tercel::plan {

// Rewrites those loops of main that are worth it and that one kernel can then run. Returns whether
// there were any. For a module that has come through the pipeline, before its plan is made.
bool sliceLoops(ir::Module& module);

}  // namespace tercel::plan
