// Chains of small ops on a batch whose rows need nothing of each other: each thread takes some of the
// rows through all of the chain, and waits for no other on the way.
#pragma once
#include "compiler/ir/module.h"

namespace tercel::plan {

// Rewrites those chains of main as forks. Into how many branches depends on shapes alone, so that
// sums over the rows have the same bits for any number of threads. Returns whether there were any.
// For a module that has come through the pipeline, before its plan is made.
bool forkRows(ir::Module& module);

}  // namespace tercel::plan
