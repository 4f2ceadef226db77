// One long transform by itself, made of many short ones.
#pragma once
#include <optional>

#include "runtime/kernels/fft_plan.h"
#include "runtime/kernels/parallel.h"

namespace tercel::kernels::fft {

// A forward transform of consecutive points. Swapping the parts of all points on the way in and out
// makes it an inverse one.
template <class T>
class Line {
 public:
  explicit Line(int64_t n);
  struct Ends {
    bool swap_in = false, swap_out = false;
    T scale = 1;
  };
  // `to` may be `from`. Throws std::bad_alloc.
  void run(const Complex<T>* from, Complex<T>* to, Ends ends, const Parallel& parallel) const;

 private:
  void runSplit(const Complex<T>* from, Complex<T>* to, Ends ends, const Parallel& parallel) const;

  std::optional<ChirpTables<T>> chirp_;  // its filter transformed; none where n is smooth
  SplitPlan<T> split_;                   // of n, or of the convolution's length
};

}  // namespace tercel::kernels::fft
