// The kernels of dense.h for one instruction set: dense_baseline.cc and its likes define
// TERCEL_VECTOR_BYTES and TERCEL_ISA, and include this.
#pragma once
#include "runtime/linalg/dense_bulges.h"
#include "runtime/linalg/dense_panel.h"
#include "runtime/linalg/dense_product.h"
#include "runtime/linalg/dense_reflections.h"
#include "runtime/linalg/dense_root.h"
#include "runtime/linalg/dense_rotations.h"
#include "runtime/linalg/dense_secular.h"
#include "runtime/linalg/dense_solution.h"
#include "runtime/linalg/dense_vector_products.h"

namespace tercel::linalg::dense::TERCEL_ISA {

TERCEL_DENSE_FUNCTIONS(TERCEL_DENSE_INSTANCES)
TERCEL_REAL_FUNCTIONS(TERCEL_REAL_INSTANCES)
TERCEL_STEP_FUNCTIONS(TERCEL_DENSE_INSTANCES)
TERCEL_REAL_STEP_FUNCTIONS(TERCEL_REAL_INSTANCES)

}  // namespace tercel::linalg::dense::TERCEL_ISA
