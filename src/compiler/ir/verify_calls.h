// The part of verify() that looks across functions.
#pragma once
#include "compiler/ir/module.h"
#include "core/status.h"

namespace tercel::ir {

// Function names are unique, main exists, each callee exists and has the call's signature, and no
// function calls itself by whatever way. Ids must have been checked.
Status verifyCalls(const Module& module);

}  // namespace tercel::ir
