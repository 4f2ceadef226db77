#pragma once
#include "compiler/ir/builder.h"

namespace tercel::passes {

// A product of complex matrices as one of real numbers: the larger one is read as it lies, as pairs, the
// smaller one is taken apart. An invalid value where it is small.
ir::Value expandComplexProduct(ir::Builder& b, const ir::Op& op);

}  // namespace tercel::passes
