// Transforms of all lines along one dimension of an array.
#pragma once
#include <optional>

#include "runtime/kernels/fft_groups.h"
#include "runtime/kernels/fft_line.h"

namespace tercel::kernels::fft {

enum class Direction : uint8_t {
  forward,
  inverse,
  real_forward,  // n numbers to the first n / 2 + 1 points
  real_inverse,  // the reverse
};

// Many short lines go side by side in the lanes of vectors, a group of them at a time. A long one,
// or one of a few, is made of shorter ones by itself.
template <class T>
class Lines {
 public:
  // Arrays [outer, n, inner]; inner is 1 for the real directions.
  Lines(Direction direction, int64_t n, LineLayout layout);
  // `to` may be `from` where the direction is not a real one. Throws std::bad_alloc.
  void run(const T* from, T* to, const Parallel& parallel) const;

 private:
  void runInLanes(const T* from, T* to, const Parallel& parallel) const;
  void runLine(const T* from, T* to, const Parallel& parallel) const;
  void runRealLine(const T* from, Complex<T>* to, const Parallel& parallel) const;
  void runToReal(const Complex<T>* from, T* to, const Parallel& parallel) const;

  Direction direction_;
  int64_t n_, points_;  // points of the complex transform: n, or n / 2 for an even real one
  LineLayout layout_;
  T scale_;
  Points<T> roots_;  // of an even real one
  std::optional<LanePlan<T>> lanes_;
  std::optional<Line<T>> line_;
};

}  // namespace tercel::kernels::fft
