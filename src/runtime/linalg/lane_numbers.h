// Real and complex numbers of several matrices, one in each lane. Internal to each file that
// includes it, as runtime/kernels/vectors.h is.
#pragma once
#if TERCEL_VECTOR_BYTES > 16
#include <immintrin.h>
#endif

#include "runtime/kernels/vectors.h"
#include "runtime/linalg/lanes.h"

namespace tercel::linalg::lanes {
namespace {

#define TERCEL_PART inline __attribute__((always_inline))

using kernels::kLanes, kernels::Vector, kernels::VectorOf;

template <class R>
using Mask = typename VectorOf<R>::Index;  // all bits of a lane, or none

template <class R>
struct ComplexLanes {
  Vector<R> re, im;
};

// Of an element type of LAPACK's: the real type, and what holds one number of each matrix.
template <class T>
struct LanesOf {
  using R = T;
  using N = Vector<T>;
};
template <class T>
struct LanesOf<std::complex<T>> {
  using R = T;
  using N = ComplexLanes<T>;
};
template <class T>
using RealOf = typename LanesOf<T>::R;
template <class T>
using Number = typename LanesOf<T>::N;
template <class T>
inline constexpr int kParts = sizeof(T) / sizeof(RealOf<T>);

template <class R>
struct Limits;
// Numbers between the roots have squares and inverses with all their bits.
template <>
struct Limits<float> {
  static constexpr int kFractionBits = 23, kExponents = 255;
  static constexpr float kSmallRoot = 0x1p-60f, kLargeRoot = 0x1p60f, kTiny = 0x1p-126f,
                         kEpsilon = 0x1p-23f;
};
template <>
struct Limits<double> {
  static constexpr int kFractionBits = 52, kExponents = 2047;
  static constexpr double kSmallRoot = 0x1p-500, kLargeRoot = 0x1p500, kTiny = 0x1p-1022,
                          kEpsilon = 0x1p-52;
};

template <class R>
TERCEL_PART bool anyOf(Mask<R> mask) {
#if TERCEL_VECTOR_BYTES == 64
  return _mm512_test_epi64_mask((__m512i)mask, (__m512i)mask) != 0;
#elif TERCEL_VECTOR_BYTES == 32
  return !_mm256_testz_si256((__m256i)mask, (__m256i)mask);
#else
  int64_t words[sizeof(mask) / 8], any = 0;
  __builtin_memcpy(words, &mask, sizeof(mask));
  for (int64_t word : words) any |= word;
  return any != 0;
#endif
}

template <class R>
Mask<R> integers(int64_t i) {
  return Mask<R>{} + static_cast<decltype(Mask<R>{}[0] + 0)>(i);
}
template <class R>
Vector<R> all(R x) {
  return x - Vector<R>{};
}
template <class V>
V absolute(V x) {
  return x < 0 ? -x : x;
}
template <class V>
V larger(V x, V y) {
  return x > y ? x : y;
}
inline float rootOf(float x) { return __builtin_sqrtf(x); }
inline double rootOf(double x) { return __builtin_sqrt(x); }
template <class R>
Vector<R> squareRoot(Vector<R> x) {
  alignas(64) R lanes[kLanes<R>];
  __builtin_memcpy(lanes, &x, sizeof(x));
  for (int l = 0; l < kLanes<R>; ++l) lanes[l] = rootOf(lanes[l]);
  __builtin_memcpy(&x, lanes, sizeof(x));
  return x;
}

// What the algorithms ask of numbers; those of vectors are the language's.
template <class R>
TERCEL_PART ComplexLanes<R> operator+(ComplexLanes<R> x, ComplexLanes<R> y) {
  return {x.re + y.re, x.im + y.im};
}
template <class R>
TERCEL_PART ComplexLanes<R> operator-(ComplexLanes<R> x, ComplexLanes<R> y) {
  return {x.re - y.re, x.im - y.im};
}
template <class R>
TERCEL_PART ComplexLanes<R> operator*(ComplexLanes<R> x, ComplexLanes<R> y) {
  return {x.re * y.re - x.im * y.im, x.re * y.im + x.im * y.re};
}
template <class R, class V>
TERCEL_PART ComplexLanes<R> operator*(ComplexLanes<R> x, V y) {
  return {x.re * y, x.im * y};
}
template <class R, class V>
TERCEL_PART ComplexLanes<R> operator/(ComplexLanes<R> x, V y) {
  return {x.re / y, x.im / y};
}

#define TERCEL_REAL_PARTS(R)                                                                  \
  TERCEL_PART Vector<R> realOf(Vector<R> x) { return x; }                                     \
  TERCEL_PART Vector<R> conjugate(Vector<R> x) { return x; }                                  \
  TERCEL_PART Vector<R> size1(Vector<R> x) { return absolute(x); }                            \
  TERCEL_PART Vector<R> square(Vector<R> x) { return x * x; }                                 \
  TERCEL_PART Mask<R> isReal(Vector<R> x) { return x == x || x != x; }                        \
  TERCEL_PART Vector<R> asNumber(Vector<R>, Vector<R> x) { return x; }                        \
  TERCEL_PART Vector<R> pick(Mask<R> mask, Vector<R> x, Vector<R> y) { return mask ? x : y; } \
  TERCEL_PART ComplexLanes<R> pick(Mask<R> mask, ComplexLanes<R> x, ComplexLanes<R> y) {      \
    return {mask ? x.re : y.re, mask ? x.im : y.im};                                          \
  }                                                                                           \
  TERCEL_PART Vector<R> realOf(ComplexLanes<R> x) { return x.re; }                            \
  TERCEL_PART ComplexLanes<R> conjugate(ComplexLanes<R> x) { return {x.re, -x.im}; }          \
  TERCEL_PART Vector<R> size1(ComplexLanes<R> x) { return absolute(x.re) + absolute(x.im); }  \
  TERCEL_PART Vector<R> square(ComplexLanes<R> x) { return x.re * x.re + x.im * x.im; }       \
  TERCEL_PART Mask<R> isReal(ComplexLanes<R> x) { return x.im == 0; }                         \
  TERCEL_PART ComplexLanes<R> asNumber(ComplexLanes<R>, Vector<R> x) { return {x, Vector<R>{}}; }
TERCEL_REAL_PARTS(float)
TERCEL_REAL_PARTS(double)
#undef TERCEL_REAL_PARTS

// 1 / x; of a complex number as far as its square has an inverse.
template <class V>
TERCEL_PART V inverseOf(V x) {
  return 1 / x;
}
template <class R>
TERCEL_PART ComplexLanes<R> inverseOf(ComplexLanes<R> x) {
  return conjugate(x) * (1 / square(x));
}

// The power of two by which numbers up to `largest` come near to 1, and its inverse.
template <class R>
struct Scale {
  Vector<R> by, back;
};
template <class R>
Scale<R> scaleOf(Vector<R> largest) {
  using L = Limits<R>;
  Mask<R> exponent;
  __builtin_memcpy(&exponent, &largest, sizeof(largest));
  exponent >>= L::kFractionBits;  // largest is not negative
  exponent = exponent < 1 ? 1 - Mask<R>{} : exponent;
  exponent = exponent > L::kExponents - 2 ? (L::kExponents - 2) - Mask<R>{} : exponent;
  const Mask<R> by = (L::kExponents - 1 - exponent) << L::kFractionBits;
  const Mask<R> back = exponent << L::kFractionBits;
  Scale<R> scale;
  __builtin_memcpy(&scale.by, &by, sizeof(by));
  __builtin_memcpy(&scale.back, &back, sizeof(back));
  return scale;
}

// Division of many numbers by one, by its inverse.
template <class T>
class Divisor {
 public:
  explicit Divisor(Number<T> x) {
    using L = Limits<RealOf<T>>;
    const auto size = size1(x);
    is_near_ = !anyOf<RealOf<T>>((size < L::kSmallRoot) | (size > L::kLargeRoot));
    if (!is_near_) scale_ = scaleOf<RealOf<T>>(size).by;
    inverse_ = is_near_ ? inverseOf(x) : inverseOf(x * scale_);
  }
  Number<T> into(Number<T> x) const { return is_near_ ? x * inverse_ : x * scale_ * inverse_; }

 private:
  Number<T> inverse_;  // of the number times scale_
  Vector<RealOf<T>> scale_ = {};
  bool is_near_;
};

}  // namespace
}  // namespace tercel::linalg::lanes
