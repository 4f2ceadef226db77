// The transcendental ops: which function of math/ each is.
#pragma once
#include "compiler/ir/module.h"
#include "compiler/kernel/builder.h"

namespace tercel::kernel {

// x and y are f32 or f64; y is used by the binary ops only.
V emitMath(Builder& b, ir::OpKind kind, V x, V y);

}  // namespace tercel::kernel
