#pragma once
#include "compiler/ir/builder.h"

namespace tercel::passes {

// A large product of complex matrices as four of their parts, which tiles of real numbers do best;
// an invalid value where it is small.
ir::Value expandComplexProduct(ir::Builder& b, const ir::Op& op);

}  // namespace tercel::passes
