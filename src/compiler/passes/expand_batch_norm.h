#pragma once
#include "compiler/ir/builder.h"

namespace tercel::passes {

// batch_norm_training, _inference and _grad as reductions and arithmetic.
ir::Values expandBatchNorm(ir::Builder& b, const ir::Op& op);

}  // namespace tercel::passes
