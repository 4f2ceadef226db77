// More of what is compiled for each instruction set, as dense.h: a step of the QR iteration for
// Hessenberg matrices, with many shifts, small Cholesky factorisations, and what eigenvalues by
// divide and conquer are found from.
#pragma once
#include "runtime/linalg/dense.h"

namespace tercel::linalg::dense {

// Two shifts of a bulge; of a real matrix both real, or the conjugate of each other.
template <class R>
struct Shifts {
  R first[2], second[2];
};

// Bulges that go down a block of a Hessenberg matrix h, three rows apart: each of `steps` times,
// one after the other, the first bulge before the others. What they change of h lies in its rows
// from `top` and its columns up to `right`; h becomes Q^H h Q, and u becomes u Q.
template <class T>
struct Bulges {
  T* h = nullptr;
  int64_t column = 0;  // how far h's columns are apart
  T* u = nullptr;      // none: null
  int64_t u_column = 0, u_rows = 0;
  int64_t top = 0, right = 0;
  int64_t begin = 0, end = 0;  // the block's rows
  int64_t count = 0;
  const Shifts<typename RealOf<T>::Type>* shifts = nullptr;
  bool is_single = false;  // the first shift alone: bulges of two rows, of complex matrices
  int64_t position = 0;  // of the first bulge: the column that it is put right in; begin - 1: none
  int64_t steps = 0;
};

// a = l l^H in the lower triangle of at most kTriangle rows. As LAPACK counts: the first column
// that is not positive definite, from 1; 0: none.
template <class T>
struct Root {
  int64_t rows = 0;
  T* a = nullptr;
  int64_t column = 0;
  int32_t* failed = nullptr;
};

// The roots x of 1 / rho + sum of squares[j] / (poles[j] - x), one beyond each pole; where
// is_squared, of the same with the squares of poles and roots. Lists and columns have `lead`
// elements: beyond those there are, poles are infinite and squares 0.
template <class R>
struct Secular {
  int64_t size = 0, lead = 0;  // lead: whole vectors
  const R* poles = nullptr;    // rising, 0 or more where is_squared
  const R* squares = nullptr;  // more than 0
  R rho = 1;
  bool is_squared = false;
  R* roots = nullptr;
  R* gaps = nullptr;     // column i: poles less root i, or their squares less the root's
  R* weights = nullptr;  // the roots of those `squares` that have just these roots, with rho = 1
  int64_t begin = 0, end = 0;  // the roots to be found, or the weights, by whole vectors
};
constexpr int64_t kSecularLanes = 16;

// Columns numerators / gaps of length 1; where has_first, with -1 for the first before that.
template <class R>
struct SecularVectors {
  int64_t lead = 0;
  const R* gaps = nullptr;
  const R* numerators = nullptr;
  bool has_first = false;
  R* vectors = nullptr;
  int64_t begin = 0, end = 0;
};

#define TERCEL_STEP_FUNCTIONS(X) X(chaseBulges, Bulges) X(takeRoot, Root)
#define TERCEL_REAL_STEP_FUNCTIONS(X) \
  X(solveSecular, Secular) X(weighSecular, Secular) X(makeSecularVectors, SecularVectors)

TERCEL_STEP_FUNCTIONS(TERCEL_DENSE_FUNCTION)
TERCEL_REAL_STEP_FUNCTIONS(TERCEL_DENSE_FUNCTION)
#define TERCEL_STEP_FUNCTIONS_OF_ISA(isa)             \
  namespace isa {                                     \
  TERCEL_STEP_FUNCTIONS(TERCEL_DENSE_FUNCTION_OF_ISA) \
  TERCEL_REAL_STEP_FUNCTIONS(TERCEL_DENSE_FUNCTION_OF_ISA) \
  }
TERCEL_ISAS(TERCEL_STEP_FUNCTIONS_OF_ISA)

}  // namespace tercel::linalg::dense
