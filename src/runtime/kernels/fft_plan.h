// The tables of a transform: made once, read by every run.
#pragma once
#include <memory>
#include <vector>

#include "runtime/kernels/fft_lanes.h"

namespace tercel::kernels::fft {

template <class T>
using Points = std::vector<Complex<T>>;

// e^(-2 pi i k / n) for k in [0, count).
template <class T>
Points<T> unitRoots(int64_t n, int64_t count);

// What LaneKernels::run needs.
template <class T>
int64_t scratchNumbers(const LaneTables<T>& tables);

// Only small prime factors: a transform of this length takes passes alone.
bool isSmooth(int64_t n);

// A transform of n points in each lane.
template <class T>
class LanePlan {
 public:
  explicit LanePlan(int64_t n);
  LanePlan(LanePlan&&) = default;
  const LaneTables<T>& tables() const { return tables_; }

 private:
  void makePasses();
  void makeConvolution();

  LaneTables<T> tables_;
  std::vector<Pass<T>> passes_;
  std::vector<Points<T>> points_;  // that the tables refer to
  std::unique_ptr<LanePlan> inner_;
};

// One transform of n = rows * columns points as `columns` transforms side by side of `rows` points
// each, and `rows` ones of `columns` points, all of them in lanes.
template <class T>
struct SplitPlan {
  explicit SplitPlan(int64_t n);
  int64_t rows, columns;
  LanePlan<T> along_column, along_row;
  // Between the two: [rows, turn_stride], the last column repeated to fill a group of lanes.
  int64_t turn_stride;
  Points<T> turns;
};

// The tables of a convolution for n points, in arrays as LaneTables has them.
template <class T>
struct ChirpTables {
  explicit ChirpTables(int64_t n);
  int64_t n, m;  // m: the length of the transforms
  Points<T> chirp, filter;  // filter: the conjugate chirp around 0, over m; not transformed yet
};

}  // namespace tercel::kernels::fft
