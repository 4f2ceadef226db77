// Several Fourier transforms of one length side by side, one in each lane of a vector: what is
// compiled for each instruction set. Plain data and nothing of the standard library, so that no
// code for a newer machine can end up in a function that others call.
#pragma once
#include <cstdint>

namespace tercel::kernels::fft {

// Of a number, or of a vector of them.
template <class V>
struct Complex {
  V re, im;
};

inline constexpr int kMaxLanes = 16;
inline constexpr int kMaxOddRadix = 61;  // beyond it a convolution is less work

// A step of the Stockham autosort algorithm, decimation in frequency: sums of `radix` points, each
// of which is then turned. twiddles: the powers 1 to radix - 1 for each of `groups` groups.
template <class T>
struct Pass {
  int32_t radix;
  int64_t groups, stride;
  const Complex<T>* twiddles;
  const Complex<T>* roots;  // of an odd radix: its powers of e^(-2 pi i / radix)
};

// A forward transform of n points, by its passes or, where n has a large prime factor, as a
// convolution by those of `inner` (Bluestein).
template <class T>
struct LaneTables {
  int64_t n = 0;
  int32_t passes = 0;
  const Pass<T>* pass = nullptr;
  const LaneTables* inner = nullptr;
  const Complex<T>* chirp = nullptr;     // n: e^(-pi i k^2 / n)
  const Complex<T>* spectrum = nullptr;  // inner->n: the transform of its conjugate, over inner->n
  int64_t longest() const { return inner ? inner->n : n; }
};

// Where the lanes' points lie: lane l's point k at data + offset[l] + k * stride, in numbers.
template <class T>
struct LaneSide {
  T* data;
  int64_t offset[kMaxLanes];
  int64_t stride;
  int64_t points;
  bool real = false;      // numbers; else pairs of them
  bool swapped = false;   // the parts of each point change places, which inverts a transform
  bool neighbours = false;  // the lanes' points lie side by side
};

// What is done between the lanes' memory and the transform of n points.
enum class Fold : uint8_t {
  none,
  pack,    // after: the n + 1 points of a real transform of 2n numbers read as n pairs
  unpack,  // before: the reverse of it, parts swapped
  mirror,  // before: the other half of an odd real transform's points, parts swapped
};

template <class T>
struct LaneJob {
  const LaneTables<T>* tables;
  Fold fold = Fold::none;
  const Complex<T>* roots = nullptr;  // of pack and unpack: e^(-2 pi i k / 2n), k <= n / 2
  LaneSide<T> from, to;
  T scale;
  // Where not null, point k of lane l is turned by turns[k * turn_stride + l] before it is stored.
  const Complex<T>* turns = nullptr;
  int64_t turn_stride = 0;
};

template <class T>
struct LaneKernels {
  int lanes;
  // scratch: two arrays of longest() + 1 points, a point being 2 * lanes numbers; 64-byte aligned.
  void (*run)(const LaneJob<T>& job, T* scratch);
  // The folds on one array of points in memory, in place.
  void (*pack)(Complex<T>* points, int64_t n, const Complex<T>* roots);
  void (*unpack)(Complex<T>* points, int64_t n, const Complex<T>* roots);
};

template <class T>
const LaneKernels<T>& laneKernels();  // of this machine

}  // namespace tercel::kernels::fft
