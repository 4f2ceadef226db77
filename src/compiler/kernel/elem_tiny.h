// Products and quotients of f32 that are subnormal, or whose operands are. Microcode makes those, in
// some hundred cycles; f64 has the range for all of them.
#pragma once
#include "compiler/kernel/builder.h"

namespace tercel::kernel {

// x op y, an fmul or fdiv of f32 vectors, by way of f64; rounded once all the same.
V inDoubles(Builder& b, Opcode op, V x, V y);

// x * y so, either of which may be a scalar.
V multiplyInDoubles(Builder& b, V x, V y);

// Whether it pays to look for such results: of smaller vectors the arithmetic takes less time than
// that.
bool looksForTiny(const Builder& b, V x);

// x * y, added to `sum` where there is one, and x / y, where it is looked for tiny results first.
V multiplyLooking(Builder& b, V x, V y, V sum);
V divideLooking(Builder& b, V x, V y);
// x / y, in one way or the other.
V divideBranching(Builder& b, V x, V y);

}  // namespace tercel::kernel
