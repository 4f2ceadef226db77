// LAPACK's functions, as JAX calls them for its CPU backend: matrices lie column by column.
#pragma once
#include "compiler/ir/builder.h"

namespace tercel::stablehlo {

// Of symmetric matrices [..., n, n], of which one triangle counts: the eigenvectors in columns, and
// the eigenvalues from the smallest up. NaN where the iteration does not converge.
ir::Values eigenvectors(ir::Builder& b, ir::Value a, bool lower);

// Of matrices [..., m, n]: L and U in one, the row that each step swaps its own with, counted from
// 0, and the order of rows that these swaps make.
ir::Values luDecomposition(ir::Builder& b, ir::Value a);

}  // namespace tercel::stablehlo
