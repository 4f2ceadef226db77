// Eigen, as all of this folder sees it: its parts under the MPL2 alone, never an abort, and memory
// that the thread keeps.
#pragma once
#include <algorithm>
#include <array>
#include <cmath>
#include <complex>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <limits>
#ifdef __SSE2__
#include <immintrin.h>
#endif

#include "core/status.h"
#include "runtime/kernels/kept_memory.h"

#define EIGEN_MPL2_ONLY
#define EIGEN_NO_IO
#define EIGEN_DONT_PARALLELIZE
// Eigen calls malloc() and free() by these names and has no other door. What it includes that has
// such functions is included above.
#define EIGEN_MALLOC_ALREADY_ALIGNED 1
#define malloc(bytes) ::tercel::kernels::takeMemory(bytes)
#define free(memory) ::tercel::kernels::giveMemory(memory)
#ifdef __SANITIZE_ADDRESS__
#define eigen_assert(condition) TERCEL_CHECK(condition, "an assertion of Eigen's")
#else
#define EIGEN_NO_DEBUG
#endif
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#pragma GCC diagnostic ignored "-Wclass-memaccess"
#include <Eigen/Core>
#pragma GCC diagnostic pop
#undef malloc
#undef free

// Of complex numbers, x /= r divides by a complex one, which overflows early: x = x / r does not.
namespace tercel::linalg {

using Eigen::Index;
template <class T>
using MatrixX = Eigen::Matrix<T, Eigen::Dynamic, Eigen::Dynamic>;
template <class T>
using VectorX = Eigen::Matrix<T, Eigen::Dynamic, 1>;
template <class T>
using MatrixRef = Eigen::Ref<MatrixX<T>>;
template <class T>
using Real = typename Eigen::NumTraits<T>::Real;
template <class T>
using Complex = std::complex<Real<T>>;
// Numbers above it, a power of two, have all their bits in products with numbers near 1.
template <class R>
inline constexpr R kExact =
    std::numeric_limits<R>::min() / std::numeric_limits<R>::epsilon();
template <class T>
inline constexpr bool kIsComplex = Eigen::NumTraits<T>::IsComplex;
template <class T>
inline constexpr Index kParts = kIsComplex<T> ? 2 : 1;

// About as large as its absolute value, and found sooner.
template <class T>
Real<T> sizeOf(T x) {
  return std::abs(Eigen::numext::real(x)) + std::abs(Eigen::numext::imag(x));
}

// The largest real or imaginary part.
template <class Matrix>
auto largestPart(const Matrix& x) {
  const auto largest = x.real().cwiseAbs().maxCoeff();
  if constexpr (!kIsComplex<typename Matrix::Scalar>) return largest;
  return std::max(largest, x.imag().cwiseAbs().maxCoeff());
}
// A power of two: divided by it, the matrix is of the order of 1.
template <class T>
Real<T> scaleOf(const MatrixX<T>& x) {
  const Real<T> largest = largestPart(x);
  return largest > 0 ? std::ldexp(Real<T>(1), std::ilogb(largest)) : Real<T>(1);
}

}  // namespace tercel::linalg

// For each of the types that LAPACK has, by its letters.
#define TERCEL_LINALG_TYPES(X) \
  X(float)                     \
  X(double)                    \
  X(std::complex<float>)       \
  X(std::complex<double>)
