// The passes of a transform over points of type C<V>.
#pragma once
#include "runtime/kernels/fft_vector.h"

namespace tercel::kernels::fft {
namespace {

template <class T>
struct Radix2 {
  static constexpr int kRadix = 2;
  template <class V>
  void operator()(C<V>* a, const Complex<T>*) const {
    C<V> sum = a[0] + a[1];
    a[1] = a[0] - a[1];
    a[0] = sum;
  }
};

template <class T>
struct Radix4 {
  static constexpr int kRadix = 4;
  template <class V>
  void operator()(C<V>* a, const Complex<T>*) const {
    C<V> even = a[0] + a[2], even_odd = a[0] - a[2];
    C<V> odd = a[1] + a[3], odd_odd = timesMinusI(a[1] - a[3]);
    a[0] = even + odd;
    a[1] = even_odd + odd_odd;
    a[2] = even - odd;
    a[3] = even_odd - odd_odd;
  }
};

template <class T>
struct Radix8 {
  static constexpr int kRadix = 8;
  template <class V>
  void operator()(C<V>* a, const Complex<T>*) const {
    constexpr T kHalfRoot = static_cast<T>(0.70710678118654752440L);
    C<V> even[4], odd[4];
#pragma GCC unroll 4
    for (int i = 0; i < 4; ++i) {
      even[i] = a[i] + a[i + 4];
      odd[i] = a[i] - a[i + 4];
    }
    odd[1] = {(odd[1].re + odd[1].im) * kHalfRoot, (odd[1].im - odd[1].re) * kHalfRoot};
    odd[2] = timesMinusI(odd[2]);
    odd[3] = {(odd[3].im - odd[3].re) * kHalfRoot, (odd[3].re + odd[3].im) * -kHalfRoot};
    Radix4<T>()(even, nullptr);
    Radix4<T>()(odd, nullptr);
#pragma GCC unroll 4
    for (int i = 0; i < 4; ++i) {
      a[2 * i] = even[i];
      a[2 * i + 1] = odd[i];
    }
  }
};

// By sums and differences of the points that lie opposite each other.
template <class T, int R>
struct OddRadix {
  static constexpr int kRadix = R;
  template <class V>
  void operator()(C<V>* a, const Complex<T>* roots) const {
    constexpr int kHalf = R / 2;
    C<V> sum[kHalf + 1], difference[kHalf + 1];
    C<V> first = a[0], total = a[0];
#pragma GCC unroll 6
    for (int j = 1; j <= kHalf; ++j) {
      sum[j] = a[j] + a[R - j];
      difference[j] = timesMinusI(a[j] - a[R - j]);
      total = total + sum[j];
    }
    a[0] = total;
#pragma GCC unroll 6
    for (int k = 1; k <= kHalf; ++k) {
      C<V> even = first, odd{V{}, V{}};
#pragma GCC unroll 6
      for (int j = 1; j <= kHalf; ++j) {
        const Complex<T> root = roots[j * k % R];
        even = even + C<V>{sum[j].re * root.re, sum[j].im * root.re};
        odd = odd - C<V>{difference[j].re * root.im, difference[j].im * root.im};
      }
      a[k] = even + odd;
      a[R - k] = even - odd;
    }
  }
};

// Any odd radix, in the same way.
struct AnyOddRadix {
  static constexpr int kRadix = kMaxOddRadix;  // the most
  int radix;
  template <class V, class T>
  void operator()(C<V>* a, const Complex<T>* roots) const {
    const int half = radix / 2;
    C<V> sum[kMaxOddRadix / 2 + 1], difference[kMaxOddRadix / 2 + 1];
    const C<V> first = a[0];
    for (int j = 1; j <= half; ++j) {
      sum[j] = a[j] + a[radix - j];
      difference[j] = timesMinusI(a[j] - a[radix - j]);
      a[0] = a[0] + sum[j];
    }
    for (int k = 1; k <= half; ++k) {
      C<V> even = first, odd{V{}, V{}};
      for (int j = 1, at = k; j <= half; ++j, at = at + k < radix ? at + k : at + k - radix) {
        const Complex<T> root = roots[at];
        even = even + C<V>{sum[j].re * root.re, sum[j].im * root.re};
        odd = odd - C<V>{difference[j].re * root.im, difference[j].im * root.im};
      }
      a[k] = even + odd;
      a[radix - k] = even - odd;
    }
  }
};

// How many points the butterfly takes.
template <class Butterfly>
constexpr int radixOf(const Butterfly&) {
  return Butterfly::kRadix;
}
inline int radixOf(const AnyOddRadix& butterfly) { return butterfly.radix; }

template <bool kTurned, class Butterfly, class V, class T>
void runPass(const Pass<T>& pass, const C<V>* __restrict from, C<V>* __restrict to,
             const Butterfly& butterfly) {
  const int R = radixOf(butterfly);
  const int64_t m = pass.groups, s = pass.stride;
  for (int64_t p = 0; p < m; ++p) {
    const Complex<T>* w = pass.twiddles + p * (R - 1);
    for (int64_t q = 0; q < s; ++q) {
      C<V> a[Butterfly::kRadix];
#pragma GCC unroll 16
      for (int j = 0; j < R; ++j) a[j] = from[q + s * (p + m * j)];
      butterfly(a, pass.roots);
      C<V>* out = to + q + s * R * p;
      out[0] = a[0];
#pragma GCC unroll 16
      for (int k = 1; k < R; ++k) out[s * k] = kTurned ? a[k] * w[k - 1] : a[k];
    }
  }
}

// The last pass turns nothing. Of large radices it is not worth code of its own: its twiddles are 1.
template <class Butterfly, class V, class T>
void runPassOf(const Pass<T>& pass, const C<V>* from, C<V>* to, const Butterfly& butterfly = {}) {
  if constexpr (Butterfly::kRadix <= 8) {
    if (pass.groups == 1) return runPass<false>(pass, from, to, butterfly);
  }
  runPass<true>(pass, from, to, butterfly);
}

template <class V, class T>
void runPass(const Pass<T>& pass, const C<V>* from, C<V>* to) {
  switch (pass.radix) {
    case 2: return runPassOf<Radix2<T>>(pass, from, to);
    case 3: return runPassOf<OddRadix<T, 3>>(pass, from, to);
    case 4: return runPassOf<Radix4<T>>(pass, from, to);
    case 5: return runPassOf<OddRadix<T, 5>>(pass, from, to);
    case 7: return runPassOf<OddRadix<T, 7>>(pass, from, to);
    case 8: return runPassOf<Radix8<T>>(pass, from, to);
    case 11: return runPassOf<OddRadix<T, 11>>(pass, from, to);
    case 13: return runPassOf<OddRadix<T, 13>>(pass, from, to);
    default: return runPassOf(pass, from, to, AnyOddRadix{pass.radix});
  }
}

// The transform of points[0, n); returns which of the two arrays it is in.
template <class V, class T>
C<V>* transform(const LaneTables<T>& tables, C<V>* points, C<V>* other) {
  for (int32_t i = 0; i < tables.passes; ++i) {
    runPass(tables.pass[i], points, other);
    C<V>* result = other;
    other = points;
    points = result;
  }
  if (!tables.inner) return points;
  const int64_t n = tables.n, m = tables.inner->n;
  for (int64_t k = 0; k < n; ++k) points[k] = points[k] * tables.chirp[k];
  for (int64_t k = n; k < m; ++k) points[k] = {V{}, V{}};
  C<V>* spectrum = transform(*tables.inner, points, other);
  other = spectrum == points ? other : points;
  for (int64_t k = 0; k < m; ++k) spectrum[k] = exchanged(spectrum[k] * tables.spectrum[k]);
  C<V>* result = transform(*tables.inner, spectrum, other);
  for (int64_t k = 0; k < n; ++k) result[k] = exchanged(result[k]) * tables.chirp[k];
  return result;
}

// Fold::pack and Fold::unpack: points k and n - k at a time.
template <class V, class T>
void packReal(C<V>* points, int64_t n, const Complex<T>* roots) {
  const C<V> zero = points[0];
  for (int64_t k = 1; 2 * k <= n; ++k) {
    C<V> a = points[k], b = conjugate(points[n - k]);
    C<V> even{(a.re + b.re) * T(0.5), (a.im + b.im) * T(0.5)};
    C<V> odd = timesMinusI(C<V>{(a.re - b.re) * T(0.5), (a.im - b.im) * T(0.5)}) * roots[k];
    points[k] = even + odd;
    points[n - k] = conjugate(even - odd);
  }
  points[0] = {zero.re + zero.im, V{}};
  points[n] = {zero.re - zero.im, V{}};
}

template <class V, class T>
void unpackReal(C<V>* points, int64_t n, const Complex<T>* roots) {
  const V first = points[0].re, last = points[n].re;
  for (int64_t k = 1; 2 * k <= n; ++k) {
    C<V> a = points[k], b = conjugate(points[n - k]);
    C<V> sum = a + b, difference = (a - b) * Complex<T>{roots[k].re, -roots[k].im};
    // sum + i difference and, at n - k, the conjugates of both; parts swapped.
    points[k] = {sum.im + difference.re, sum.re - difference.im};
    points[n - k] = {difference.re - sum.im, sum.re + difference.im};
  }
  points[0] = {first - last, first + last};
}

}  // namespace
}  // namespace tercel::kernels::fft
