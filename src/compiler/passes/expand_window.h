// Wide windows in time that does not grow with their size.
#pragma once
#include "compiler/passes/rewriter.h"

namespace tercel::passes {

// True: the reduce_window's result is replaced. A window over several dimensions becomes windows
// over one each; a long one the combination of two running reductions (van Herk, Gil and Werman).
bool splitWindow(Rewriter& rw, ir::OpId id);

}  // namespace tercel::passes
