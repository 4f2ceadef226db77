// Convolutions in the order that register tiles read them.
#pragma once
#include "compiler/passes/rewriter.h"

namespace tercel::passes {

// True: the convolution's result is replaced. Padding and dilation of the input are written out, so
// that no tile asks for bounds, and features lie innermost, which fill vectors where images are
// small.
bool orderConvolution(Rewriter& rw, ir::OpId id);

// True: the convolution of a dilated input is replaced by one that is not dilated.
bool undilateConvolution(Rewriter& rw, ir::OpId id);

// True: the convolution of a small image by a large kernel is replaced by one of that kernel by the
// image.
bool swapConvolution(Rewriter& rw, ir::OpId id);

}  // namespace tercel::passes
