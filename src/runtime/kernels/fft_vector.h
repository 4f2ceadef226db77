// Vectors of complex numbers for the transforms of fft_lanes_code.h.
#pragma once
#include "runtime/kernels/fft_lanes.h"
#include "runtime/kernels/vectors.h"

namespace tercel::kernels::fft {
namespace {

template <class V>
using C = Complex<V>;

template <class V>
C<V> operator+(C<V> a, C<V> b) {
  return {a.re + b.re, a.im + b.im};
}
template <class V>
C<V> operator-(C<V> a, C<V> b) {
  return {a.re - b.re, a.im - b.im};
}
template <class V, class T>
C<V> operator*(C<V> a, Complex<T> w) {
  return {a.re * w.re - a.im * w.im, a.re * w.im + a.im * w.re};
}
template <class V>
C<V> timesMinusI(C<V> a) {
  return {a.im, -a.re};
}
template <class V>
C<V> conjugate(C<V> a) {
  return {a.re, -a.im};
}
template <class V>
C<V> exchanged(C<V> a) {
  return {a.im, a.re};
}

// Elements first, first + step, ... of a and b joined.
template <class T>
Vector<T> everyOther(Vector<T> a, Vector<T> b, int first) {
  typename VectorOf<T>::Index index;
  for (int i = 0; i < kLanes<T>; ++i) index[i] = first + 2 * i;
  return __builtin_shuffle(a, b, index);
}

}  // namespace
}  // namespace tercel::kernels::fft
