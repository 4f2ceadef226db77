#pragma once
#include "compiler/ir/builder.h"

namespace tercel::passes {

// Of a call of LAPACK on small matrices; none: it stays.
ir::Values expandLapack(ir::Builder& b, const ir::Op& call);

}  // namespace tercel::passes
