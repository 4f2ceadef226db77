// Products of dense matrices and what is built from them: what is compiled for each instruction
// set. As lanes.h, plain data and nothing of the standard library.
#pragma once
#include <complex>
#include <cstdint>

#include "runtime/kernels/isa.h"

// No function of its own, which another instruction set could share.
#define TERCEL_PART inline __attribute__((always_inline))

namespace tercel::linalg::dense {

// Element (i, j) lies at data[i * row + j * column].
template <class T>
struct Strided {
  T* data = nullptr;
  int64_t row = 1, column = 1;

  TERCEL_PART T& operator()(int64_t i, int64_t j) const { return data[i * row + j * column]; }
  TERCEL_PART Strided at(int64_t i, int64_t j) const { return {&(*this)(i, j), row, column}; }
  TERCEL_PART Strided transposed() const { return {data, column, row}; }
};

template <class T>
struct RealOf {
  using Type = T;
};
template <class T>
struct RealOf<std::complex<T>> {
  using Type = T;
};

// c += factor a b, of m rows, n columns and k terms; c's elements are beside each other in a
// column.
template <class T>
struct Product {
  int64_t m = 0, n = 0, k = 0;
  Strided<const T> a, b;
  bool conjugate_a = false, conjugate_b = false;
  typename RealOf<T>::Type factor = 1;
  Strided<T> c;
  bool lower = false;       // nothing above c's diagonal is touched
  void* scratch = nullptr;  // 64-byte aligned: scratchElements()
};

// What the panels of a product need, in real numbers.
constexpr int64_t kTerms = 256, kProductRows = 192, kProductColumns = 512, kLargestTile = 64;
constexpr int64_t scratchElements(int64_t m, int64_t n, int64_t k, int64_t parts) {
  const auto least = [](int64_t x, int64_t most) { return x < most ? x : most; };
  return least(k, kTerms) * parts *
         (least(m, kProductRows) + least(n, kProductColumns) + 2 * kLargestTile);
}

// y += factor a x or y += factor a^H x; a is column-major with m rows and n columns.
template <class T>
struct VectorProduct {
  int64_t m = 0, n = 0;
  const T* a = nullptr;
  int64_t column = 0;
  const T* x = nullptr;
  T* y = nullptr;
  typename RealOf<T>::Type factor = 1;
};

// c = (I - tau v v^H) c, or, by rows, c (I - tau v v^H).
template <class T>
struct Reflection {
  int64_t rows = 0, columns = 0;
  const T* v = nullptr;
  T tau = {};
  T* c = nullptr;
  int64_t column = 0;
};

// a -= v w^H + w v^H of a lower triangle with `size` rows.
template <class T>
struct RankTwo {
  int64_t size = 0;
  const T* v = nullptr;
  const T* w = nullptr;
  T* a = nullptr;
  int64_t column = 0;
};

// l x = b for a lower triangle (upper: backwards) of at most kTriangle rows; x replaces b.
constexpr int64_t kTriangle = 32;
template <class T>
struct Solution {
  int64_t rows = 0, columns = 0;
  Strided<const T> l;
  bool conjugate = false, unit = false, upper = false;
  Strided<T> x;
};

// Of real columns x, y beside each other: (c x + s y, c y - s x). A sweep turns those from `first`
// on, one after the other, `count` times; `turns` has the c and s of all sweeps.
constexpr int64_t kStripBytes = 256;
template <class R>
struct Rotations {
  int64_t rows = 0, columns = 0;
  R* matrix = nullptr;
  int64_t column = 0;       // how far columns are apart
  void* scratch = nullptr;  // 64-byte aligned: kStripBytes for each column
  int64_t sweeps = 0;
  const int64_t* first = nullptr;
  const int64_t* count = nullptr;
  const R* turns = nullptr;
};

#define TERCEL_DENSE_FUNCTIONS(X)  \
  X(multiply, Product)             \
  X(multiplyVector, VectorProduct) \
  X(multiplyAdjoint, VectorProduct) X(multiplyHermitian, VectorProduct) \
  X(solveTriangle, Solution)  \
  X(reflect, Reflection) X(reflectRows, Reflection) X(addRankTwo, RankTwo)

// Up to kPanelColumns real columns of at least as many rows become those of l and u, with exchanges
// of rows: `pivots`, from 0. zero: the first pivot that is 0, from 1; 0: none.
constexpr int64_t kPanelColumns = 16;
template <class R>
struct Panel {
  int64_t m = 0, n = 0;
  R* a = nullptr;
  int64_t column = 0;
  int32_t* pivots = nullptr;
  int32_t* zero = nullptr;
  void* scratch = nullptr;  // 64-byte aligned: panelElements()
};
constexpr int64_t panelElements(int64_t m) { return (m + 15) / 16 * 16 * kPanelColumns; }

#define TERCEL_REAL_FUNCTIONS(X) X(rotate, Rotations) X(factorPanel, Panel)

#define TERCEL_DENSE_INSTANCES(function, Job)                                   \
  template void function<float>(const Job<float>&);                             \
  template void function<double>(const Job<double>&);                           \
  template void function<std::complex<float>>(const Job<std::complex<float>>&); \
  template void function<std::complex<double>>(const Job<std::complex<double>>&);

#define TERCEL_REAL_INSTANCES(function, Job)        \
  template void function<float>(const Job<float>&); \
  template void function<double>(const Job<double>&);

// Of this machine's best instruction set, and those of each.
#define TERCEL_DENSE_FUNCTION(function, Job) \
  template <class T>                         \
  void function(const Job<T>& job);
#define TERCEL_DENSE_FUNCTION_OF_ISA(function, Job) \
  template <class T>                                \
  TERCEL_OF_ISA void function(const Job<T>& job);
#define TERCEL_DENSE_FUNCTIONS_OF_ISA(isa)             \
  namespace isa {                                      \
  TERCEL_DENSE_FUNCTIONS(TERCEL_DENSE_FUNCTION_OF_ISA) \
  TERCEL_REAL_FUNCTIONS(TERCEL_DENSE_FUNCTION_OF_ISA)  \
  }
TERCEL_DENSE_FUNCTIONS(TERCEL_DENSE_FUNCTION)
TERCEL_REAL_FUNCTIONS(TERCEL_DENSE_FUNCTION)
TERCEL_ISAS(TERCEL_DENSE_FUNCTIONS_OF_ISA)

}  // namespace tercel::linalg::dense
