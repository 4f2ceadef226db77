// How ops that name their dimensions take up transposes and drop dimensions of 1.
#pragma once
#include "compiler/passes/rewriter.h"

namespace tercel::passes {

// Each returns what stands for the result, or an invalid Value.
ir::Value layoutOfDot(Rewriter& rw, const ir::Op& dot);
ir::Value layoutOfConvolution(Rewriter& rw, const ir::Op& convolution);
ir::Value transposedConvolution(Rewriter& rw, const ir::Op& transpose);
// transpose(dot_general) and transpose(convolution)
ir::Value transposedProduct(Rewriter& rw, const ir::Op& transpose);
// True: its results are replaced.
bool layoutOfReduce(Rewriter& rw, ir::OpId id);

}  // namespace tercel::passes
