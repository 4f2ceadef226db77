// rng_bit_generator as arithmetic on words of 32 bits.
#pragma once
#include "compiler/passes/rewriter.h"

namespace tercel::passes {

// True: the op's results are replaced. False where the state or the bits have no such form.
bool expandRandom(Rewriter& rw, ir::OpId id);

}  // namespace tercel::passes
