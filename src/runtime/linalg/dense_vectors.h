// What the kernels of dense.h share. Internal to each file that includes it, as
// runtime/kernels/vectors.h is. Complex numbers are pairs of real ones.
#pragma once
#if TERCEL_VECTOR_BYTES > 16
#include <immintrin.h>
#endif

#include "runtime/kernels/vectors.h"
#include "runtime/linalg/dense.h"

// Loops over what registers hold have constant bounds.
#define TERCEL_UNROLL _Pragma("GCC unroll 16")

namespace tercel::linalg::dense {
namespace {

using kernels::kLanes, kernels::Vector, kernels::VectorOf;

template <class T>
using Real = typename RealOf<T>::Type;
template <class T>
inline constexpr int kParts = sizeof(T) / sizeof(Real<T>);
template <class T>
const Real<T>* partsOf(const T* numbers) {
  return reinterpret_cast<const Real<T>*>(numbers);
}
template <class T>
Real<T>* partsOf(T* numbers) {
  return reinterpret_cast<Real<T>*>(numbers);
}

// Lanes of an array: a whole vector, or a few from `first` on.
template <class R>
struct Whole {
  TERCEL_PART Vector<R> load(const R* from) const { return kernels::loadVector(from); }
  TERCEL_PART void store(R* to, Vector<R> v) const { kernels::storeVector(to, v); }
};
#if TERCEL_VECTOR_BYTES == 64
template <class R>
struct Few {
  uint32_t lanes;
  TERCEL_PART explicit Few(int64_t end, int64_t first = 0)
      : lanes(((1u << end) - 1) & ~((1u << first) - 1)) {}
  TERCEL_PART Vector<R> load(const R* from) const {
    if constexpr (sizeof(R) == 4)
      return _mm512_maskz_loadu_ps(static_cast<__mmask16>(lanes), from);
    else
      return _mm512_maskz_loadu_pd(static_cast<__mmask8>(lanes), from);
  }
  TERCEL_PART void store(R* to, Vector<R> v) const {
    if constexpr (sizeof(R) == 4)
      _mm512_mask_storeu_ps(to, static_cast<__mmask16>(lanes), v);
    else
      _mm512_mask_storeu_pd(to, static_cast<__mmask8>(lanes), v);
  }
};
#elif TERCEL_VECTOR_BYTES == 32
template <class R>
struct Few {
  __m256i lanes;
  TERCEL_PART explicit Few(int64_t end, int64_t first = 0) {
    using Place = decltype(typename VectorOf<R>::Index{}[0] + 0);
    typename VectorOf<R>::Index places;
    TERCEL_UNROLL
    for (int l = 0; l < kLanes<R>; ++l) places[l] = l;
    lanes = (__m256i)((places < static_cast<Place>(end)) & (places >= static_cast<Place>(first)));
  }
  TERCEL_PART Vector<R> load(const R* from) const {
    if constexpr (sizeof(R) == 4)
      return _mm256_maskload_ps(from, lanes);
    else
      return _mm256_maskload_pd(from, lanes);
  }
  TERCEL_PART void store(R* to, Vector<R> v) const {
    if constexpr (sizeof(R) == 4)
      _mm256_maskstore_ps(to, lanes, v);
    else
      _mm256_maskstore_pd(to, lanes, v);
  }
};
#else
template <class R>
struct Few {
  int64_t end, first;
  TERCEL_PART explicit Few(int64_t end, int64_t first = 0) : end(end), first(first) {}
  TERCEL_PART Vector<R> load(const R* from) const {
    Vector<R> v = {};
    TERCEL_UNROLL
    for (int l = 0; l < kLanes<R>; ++l)
      if (l >= first && l < end) v[l] = from[l];
    return v;
  }
  TERCEL_PART void store(R* to, Vector<R> v) const {
    TERCEL_UNROLL
    for (int l = 0; l < kLanes<R>; ++l)
      if (l >= first && l < end) to[l] = v[l];
  }
};
#endif

// f(start, lanes) for all of [0, size).
template <class R, class F>
TERCEL_PART void forEachVector(int64_t size, F&& f) {
  constexpr int64_t kL = kLanes<R>;
  int64_t i = 0;
  for (; i + kL <= size; i += kL) f(i, Whole<R>{});
  if (i < size) f(i, Few<R>(size - i));
}

// All lanes of v, of numbers or of their indices, combined in each lane.
template <class R, class V, class F>
TERCEL_PART V acrossLanes(V v, F&& combine) {
  typename VectorOf<R>::Index index = {};
  TERCEL_UNROLL
  for (int distance = kLanes<R> / 2; distance > 0; distance /= 2) {
    TERCEL_UNROLL
    for (int l = 0; l < kLanes<R>; ++l) index[l] = l ^ distance;
    v = combine(v, __builtin_shuffle(v, index));
  }
  return v;
}
template <class R>
TERCEL_PART R sumOf(Vector<R> v) {
  return acrossLanes<R>(
      v, [](Vector<R> x, Vector<R> y) __attribute__((always_inline)) { return x + y; })[0];
}
// b a d c ... of a b c d ...
template <class R>
TERCEL_PART Vector<R> partsSwapped(Vector<R> v) {
  typename VectorOf<R>::Index index = {};
  TERCEL_UNROLL
  for (int l = 0; l < kLanes<R>; ++l) index[l] = l ^ 1;
  return __builtin_shuffle(v, index);
}
// - + - + ...
template <class R>
TERCEL_PART Vector<R> signs() {
  Vector<R> v = {};
  TERCEL_UNROLL
  for (int l = 0; l < kLanes<R>; ++l) v[l] = l % 2 ? R(1) : R(-1);
  return v;
}

// A number to compute with: of std::complex other instruction sets might share code.
template <class T>
struct Number {
  T re = 0;
  TERCEL_PART static Number load(const T* from) { return {*from}; }
  TERCEL_PART void store(T* to) const { *to = re; }
  TERCEL_PART Number conjugate() const { return *this; }
  TERCEL_PART T size() const { return __builtin_fabs(re); }
  TERCEL_PART T square() const { return re * re; }
  TERCEL_PART Number operator+(Number x) const { return {re + x.re}; }
  TERCEL_PART Number operator-(Number x) const { return {re - x.re}; }
  TERCEL_PART Number operator*(Number x) const { return {re * x.re}; }
  TERCEL_PART Number operator*(T x) const { return {re * x}; }
  TERCEL_PART Number inverse() const { return {1 / re}; }
};
template <class R>
struct Number<std::complex<R>> {
  R re = 0, im = 0;
  TERCEL_PART static Number load(const std::complex<R>* from) {
    return {partsOf(from)[0], partsOf(from)[1]};
  }
  TERCEL_PART void store(std::complex<R>* to) const {
    partsOf(to)[0] = re;
    partsOf(to)[1] = im;
  }
  TERCEL_PART Number conjugate() const { return {re, -im}; }
  TERCEL_PART R size() const { return __builtin_fabs(re) + __builtin_fabs(im); }
  TERCEL_PART R square() const { return re * re + im * im; }
  TERCEL_PART Number operator+(Number x) const { return {re + x.re, im + x.im}; }
  TERCEL_PART Number operator-(Number x) const { return {re - x.re, im - x.im}; }
  TERCEL_PART Number operator*(Number x) const {
    return {re * x.re - im * x.im, re * x.im + im * x.re};
  }
  TERCEL_PART Number operator*(R x) const { return {re * x, im * x}; }
  // Of a number of the order of 1.
  TERCEL_PART Number inverse() const { return conjugate() * (1 / square()); }
};

// A number that numbers of vectors are multiplied by.
template <class T>
struct Scalar {
  Vector<T> by = {};
  Scalar() = default;
  TERCEL_PART explicit Scalar(Number<T> x) : by(x.re - Vector<T>{}) {}
  TERCEL_PART Vector<T> times(Vector<T> v) const { return v * by; }
  TERCEL_PART Vector<T> timesPlus(Vector<T> v, Vector<T> y) const { return y + v * by; }
};
template <class R>
struct Scalar<std::complex<R>> {
  Vector<R> re = {}, im = {};
  Scalar() = default;
  TERCEL_PART explicit Scalar(Number<std::complex<R>> x)
      : re(x.re - Vector<R>{}), im(x.im * signs<R>()) {}
  TERCEL_PART Vector<R> times(Vector<R> v) const { return v * re + partsSwapped<R>(v) * im; }
  TERCEL_PART Vector<R> timesPlus(Vector<R> v, Vector<R> y) const {
    y += v * re;
    return y + partsSwapped<R>(v) * im;
  }
};

// Division by a number; of complex numbers: Smith's, 1962. By a product where the reciprocal has
// all of its digits.
template <class R>
class Quotient {
 public:
  void set(const R* x) {
    constexpr R kLarge = sizeof(R) == 4 ? R(0x1p100) : R(0x1p1000);
    const R size = __builtin_fabs(*x);
    multiplies_ = size <= kLarge && size >= 1 / kLarge;
    by_ = multiplies_ ? 1 / *x : *x;
  }
  TERCEL_PART void divide(Vector<R>* x) const {
    if (multiplies_) {
      x[0] *= by_;
    } else {
      x[0] /= by_;
    }
  }

 private:
  bool multiplies_;
  R by_;
};
template <class R>
class Quotient<std::complex<R>> {
 public:
  void set(const R* x) {
    const R re = x[0], im = x[1];
    is_real_ = __builtin_fabs(re) >= __builtin_fabs(im);
    ratio_ = is_real_ ? im / re : re / im;
    by_ = is_real_ ? re + im * ratio_ : re * ratio_ + im;
  }
  TERCEL_PART void divide(Vector<R>* x) const {
    const Vector<R> re = x[0], im = x[1];
    x[0] = (is_real_ ? re + im * ratio_ : re * ratio_ + im) / by_;
    x[1] = (is_real_ ? im - re * ratio_ : im * ratio_ - re) / by_;
  }

 private:
  bool is_real_;
  R ratio_, by_;
};

// A sum of products conj(a) x.
template <class T>
struct Dot {
  Vector<T> sum = {};
  TERCEL_PART void add(Vector<T> a, Vector<T> x) { sum += a * x; }
  TERCEL_PART Number<T> value() const { return {sumOf<T>(sum)}; }
  TERCEL_PART void addTo(T* y, T factor) const { *y += value().re * factor; }
};
template <class R>
struct Dot<std::complex<R>> {
  Vector<R> same = {}, crossed = {};
  TERCEL_PART void add(Vector<R> a, Vector<R> x) {
    same += a * x;
    crossed += a * partsSwapped<R>(x);
  }
  TERCEL_PART Number<std::complex<R>> value() const {
    return {sumOf<R>(same), -sumOf<R>(crossed * signs<R>())};
  }
  TERCEL_PART void addTo(std::complex<R>* y, R factor) const {
    const Number<std::complex<R>> sum = value();
    R* parts = partsOf(y);
    parts[0] += sum.re * factor;
    parts[1] += sum.im * factor;
  }
};

}  // namespace
}  // namespace tercel::linalg::dense
