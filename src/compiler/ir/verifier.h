// Checks a Module's invariants: ids in range, dominance, arity, types as inferred, region
// signatures, function references, no recursion among functions.
#pragma once
#include "compiler/ir/module.h"
#include "core/status.h"

namespace tercel::ir {

// The first violation, naming the op, the types and the source location.
Status verify(const Module& module);

// Whether the op's attributes are its kind's, and its results have the types that are inferred.
Status verifyUse(const Module& module, const Op& op);

}  // namespace tercel::ir
