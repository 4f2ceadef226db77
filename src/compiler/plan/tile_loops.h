// Products and what surrounds them, a tile at a time: attention whose scores are too large for the
// cache. After Dao et al., FlashAttention (2022), in so far as tiles of the scores never leave it; rows
// of them stay whole.
#pragma once
#include "compiler/ir/module.h"

namespace tercel::plan {

// Makes parallel loops (ir/parallel_loop.h) of such ops; whether there were any.
bool loopOverTiles(ir::Module& module);

}  // namespace tercel::plan
