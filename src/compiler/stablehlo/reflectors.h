// Matrices as products of Householder reflectors, I - tau v v^H, in LAPACK's form: v has a one on the
// diagonal and its rest below it.
#pragma once
#include "compiler/ir/builder.h"

namespace tercel::stablehlo {

// Of matrices [..., m, n] (m, n > 0): R with the reflectors below its diagonal, and their taus.
ir::Values factorise(ir::Builder& b, ir::Value a);

// The first columns, as many as `a` has, of the product of the reflectors below a's diagonal.
ir::Value multiplyReflectors(ir::Builder& b, ir::Value a, ir::Value taus);

}  // namespace tercel::stablehlo
