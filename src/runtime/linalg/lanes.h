// Small matrices of a batch side by side, one in each lane of a vector: what is compiled for each
// instruction set. Plain data and nothing of the standard library, so that no code for a newer
// machine can end up in a function that others call.
#pragma once
#include <complex>
#include <cstdint>

#include "runtime/kernels/isa.h"
#include "runtime/linalg/triangle.h"

namespace tercel::linalg::lanes {

// Matrices [first, first + count) of a batch, at most as many as there are lanes.
template <class T>
struct Job {
  T* a = nullptr;            // the matrices, which the results replace
  const T* given = nullptr;  // trsm: the triangles; orgqr, ormqr: taus
  const T* reflectors = nullptr;  // ormqr's, of given_columns
  T* taus = nullptr;         // geqrf's, gehrd's
  int32_t* pivots = nullptr;
  void* values = nullptr;    // eigenvalues or singular values, of the real type
  T *u = nullptr, *vh = nullptr;  // gesdd's, whose a stays; k columns or rows of the longer side
  bool has_vectors = false;
  int32_t* info = nullptr;
  // gtsv's, below, on and above; what elimination makes of them, or null: rather than find a pivot
  // 0, none is less than rounding errors.
  const T* diagonals[3] = {};
  T* factors[3] = {};
  int64_t m = 0, n = 0, k = 0;
  int64_t given_columns = 0;
  // Between columns, in scratch, of a (but syevd's, gesdd's and gehrd's), and of trsm's triangles
  // and ormqr's reflectors.
  int64_t lead = 0, given_lead = 0;
  int64_t low = 0, high = 0;  // gehrd's rows and columns
  Triangle triangle;  // ormqr: on which side, and transposed where it is the adjoint
  int64_t first = 0, count = 0;
  void* scratch = nullptr;  // 64-byte aligned: scratchElements() for each lane
};

// Of so many more rows than columns LAPACK finds the triangle of the QR factorisation first, before
// singular values.
constexpr bool isTall(int64_t rows, int64_t columns, bool is_complex) {
  return is_complex ? rows >= columns * 17 / 9 : rows >= columns * 11 / 6;
}

#define TERCEL_LANE_FUNCTIONS(X) X(potrf) X(getrf) X(trsm) X(geqrf) X(orgqr) X(ormqr) X(syevd) \
  X(gesdd) X(gehrd) X(gtsv)

#define TERCEL_LANE_INSTANCES(function)                                         \
  template void function<float>(const Job<float>&);                             \
  template void function<double>(const Job<double>&);                           \
  template void function<std::complex<float>>(const Job<std::complex<float>>&); \
  template void function<std::complex<double>>(const Job<std::complex<double>>&);

// Of this machine's best instruction set, and those of each.
#define TERCEL_LANE_FUNCTION(function) \
  template <class T>                   \
  void function(const Job<T>& job);
TERCEL_LANE_FUNCTIONS(TERCEL_LANE_FUNCTION)
#define TERCEL_LANE_FUNCTION_OF_ISA(function) \
  template <class T>                          \
  TERCEL_OF_ISA void function(const Job<T>& job);
#define TERCEL_LANE_FUNCTIONS_OF_ISA(isa)            \
  namespace isa {                                    \
  TERCEL_LANE_FUNCTIONS(TERCEL_LANE_FUNCTION_OF_ISA) \
  }
TERCEL_ISAS(TERCEL_LANE_FUNCTIONS_OF_ISA)

}  // namespace tercel::linalg::lanes
