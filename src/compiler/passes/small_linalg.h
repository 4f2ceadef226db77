// Factors of small matrices and systems of equations, written out entry by entry.
#pragma once
#include "compiler/passes/entries.h"

namespace tercel::passes {

// Whether the expansion is short enough: about a loop's turn as one function, and a compilation of
// milliseconds.
bool isSmallLu(const Shape& matrices);
bool isSmallCholesky(const Shape& matrices);
bool isSmallTriangle(const Shape& matrices);

// As LAPACK has it: rows exchanged for the largest pivot, their numbers and that of the first pivot
// that is 0, both from 1; s32.
struct SmallLu {
  Entries factors;
  std::vector<ir::Value> pivots;
  ir::Value info;
};
SmallLu smallLu(ir::Builder& b, Entries a);

// a = l l^H from a's lower triangle; above that of l stands what stood in a. `info` is the first
// column, from 1, where a is not positive definite; s32.
struct SmallCholesky {
  Entries factor;
  ir::Value info;
};
SmallCholesky smallCholesky(ir::Builder& b, Entries a);

// op(a) x = rhs, or x op(a) = rhs.
struct Triangle {
  bool left = true, lower = false, transposed = false, conjugate = false, unit = false;
};
// `unknowns` is the dimension of rhs, one of its last two, that the system is along.
ir::Value smallSolution(ir::Builder& b, Entries a, ir::Value rhs, size_t unknowns,
                        const Triangle& how);

}  // namespace tercel::passes
