// Equality of what two modules compute.
#pragma once
#include "compiler/ir/literal.h"

namespace tercel::passes {

// Equal bits, any NaN equal to any other; or as far apart as `tolerance` times their size.
bool sameLiteral(const ir::Literal& a, const ir::Literal& b, double tolerance = 0);

}  // namespace tercel::passes
