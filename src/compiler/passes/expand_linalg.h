#pragma once
#include "compiler/ir/builder.h"

namespace tercel::passes {

// By blocks: products of matrices do most of the work, loops over rows the rest.
ir::Value expandCholesky(ir::Builder& b, const ir::Op& op);
ir::Value expandTriangularSolve(ir::Builder& b, const ir::Op& op);

}  // namespace tercel::passes
