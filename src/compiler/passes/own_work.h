// Element work that is done for one reader alone.
#pragma once
#include <vector>

#include "compiler/passes/rewriter.h"

namespace tercel::passes {

// Whether the elements of the result are made of those of the operands in the same place, or of
// single ones.
bool actsElementByElement(const Rewriter& rw, const ir::Op& op);

// Such ops of the region being walked that make what the op being visited reads of `results`, and
// that nothing else reads: each one after all of its readers.
std::vector<ir::OpId> ownWork(const Rewriter& rw, const ir::Values& results);

}  // namespace tercel::passes
