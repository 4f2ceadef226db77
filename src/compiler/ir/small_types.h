// Types of which a value takes a byte and that nothing computes in (SMALL_DTYPE of
// core/dtypes.def): integers of two or four bits, floats of eight or fewer.
#pragma once
#include "compiler/ir/module.h"

namespace tercel::ir {

// Makes bytes, s8 or u8, of all values of small types and arithmetic on them of all ops that
// compute with them: integers are computed in bytes and cut after each op, floats in f32 and rounded after
// each op. Only main's arguments and results, and those of custom calls, keep their types: a
// bitcast_convert stands between. False: there were none.
bool lowerSmallTypes(Module& module);
bool usesSmallTypes(const Module& module);

}  // namespace tercel::ir
