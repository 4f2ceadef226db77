// Products of few rows and a large matrix, whose time is that of reading it.
#pragma once
#include "compiler/passes/rewriter.h"

namespace tercel::passes {

// x[m?, k] times w[k, n]: True, and the result replaced by a sum over parts of k, each part a product
// that reads some lines of w from end to end. Tasks would have pieces of all lines else, which
// machines fetch ahead badly. The parts depend on the shapes alone, and so do the bits.
bool splitSum(Rewriter& rw, ir::OpId id);

}  // namespace tercel::passes
