// Vectors of TERCEL_VECTOR_BYTES, which the file that includes this defines. Internal to it: the
// same functions exist for several instruction sets.
#pragma once
#include <cstdint>

namespace tercel::kernels {
namespace {

template <class T>
struct VectorOf;
template <>
struct VectorOf<float> {
  typedef float Type __attribute__((vector_size(TERCEL_VECTOR_BYTES)));
  typedef int32_t Index __attribute__((vector_size(TERCEL_VECTOR_BYTES)));
};
template <>
struct VectorOf<double> {
  typedef double Type __attribute__((vector_size(TERCEL_VECTOR_BYTES)));
  typedef int64_t Index __attribute__((vector_size(TERCEL_VECTOR_BYTES)));
};
template <class T>
using Vector = typename VectorOf<T>::Type;
template <class T>
inline constexpr int kLanes = TERCEL_VECTOR_BYTES / static_cast<int>(sizeof(T));

template <class T>
Vector<T> loadVector(const T* from) {
  Vector<T> v;
  __builtin_memcpy(&v, from, sizeof(v));
  return v;
}
template <class T>
void storeVector(T* to, Vector<T> v) {
  __builtin_memcpy(to, &v, sizeof(v));
}

// a0 b0 a1 b1 ..., from element `first` of each on.
template <class T>
Vector<T> interleaved(Vector<T> a, Vector<T> b, int first) {
  typename VectorOf<T>::Index index = {};
#pragma GCC unroll 16
  for (int i = 0; i < kLanes<T>; ++i) index[i] = first + i / 2 + (i % 2) * kLanes<T>;
  return __builtin_shuffle(a, b, index);
}

// Transposes a matrix, each of whose rows is a vector, by as many perfect shuffles of its rows as the
// logarithm of their number. The rows of the other are as many, joined to whole vectors.
template <class T, int kRows>
void transposeRows(Vector<T>* rows) {
  Vector<T> next[kRows];
#pragma GCC unroll 4
  for (int size = 1; size < kRows; size *= 2) {
#pragma GCC unroll 16
    for (int i = 0; i < kRows / 2; ++i) {
      next[2 * i] = interleaved<T>(rows[i], rows[i + kRows / 2], 0);
      next[2 * i + 1] = interleaved<T>(rows[i], rows[i + kRows / 2], kLanes<T> / 2);
    }
#pragma GCC unroll 16
    for (int i = 0; i < kRows; ++i) rows[i] = next[i];
  }
}
template <class T>
void transposeSquare(Vector<T>* rows) {
  transposeRows<T, kLanes<T>>(rows);
}

}  // namespace
}  // namespace tercel::kernels
