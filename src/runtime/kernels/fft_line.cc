#include "runtime/kernels/fft_line.h"

#include "runtime/kernels/fft_groups.h"

namespace tercel::kernels::fft {
namespace {

template <class T>
Complex<T> product(Complex<T> a, Complex<T> b) {
  return {a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
}

template <class T>
Complex<T> swappedIf(bool swap, Complex<T> a) {
  return swap ? Complex<T>{a.im, a.re} : a;
}

}  // namespace

template <class T>
Line<T>::Line(int64_t n)
    : chirp_(isSmooth(n) ? std::nullopt : std::optional<ChirpTables<T>>(n)),
      split_(chirp_ ? chirp_->m : n) {
  if (chirp_) runSplit(chirp_->filter.data(), chirp_->filter.data(), {}, {});
}

template <class T>
void Line<T>::run(const Complex<T>* from, Complex<T>* to, Ends ends,
                  const Parallel& parallel) const {
  if (!chirp_) return runSplit(from, to, ends, parallel);
  const size_t n = static_cast<size_t>(chirp_->n), m = static_cast<size_t>(chirp_->m);
  const Points<T>&chirp = chirp_->chirp, &spectrum = chirp_->filter;
  KeptMemory<Complex<T>> memory;
  auto* points = memory.take(chirp_->m);
  for (size_t k = 0; k < n; ++k) points[k] = product(swappedIf(ends.swap_in, from[k]), chirp[k]);
  for (size_t k = n; k < m; ++k) points[k] = {0, 0};
  runSplit(points, points, {}, parallel);
  for (size_t k = 0; k < m; ++k) points[k] = product(points[k], spectrum[k]);
  runSplit(points, points, {true, true, ends.scale}, parallel);
  for (size_t k = 0; k < n; ++k) to[k] = swappedIf(ends.swap_out, product(points[k], chirp[k]));
}

// A matrix of points: its columns are transformed and turned, then its rows, whose results are the
// columns of the transform.
template <class T>
void Line<T>::runSplit(const Complex<T>* from, Complex<T>* to, Ends ends,
                       const Parallel& parallel) const {
  const int64_t rows = split_.rows, columns = split_.columns;
  KeptMemory<T> memory;
  T* between = memory.take(2 * rows * columns);
  LaneJob<T> job{.tables = &split_.along_column.tables(), .scale = 1};
  // The job only reads what it loads from.
  job.from = {.data = const_cast<T*>(&from->re), .stride = 2 * columns, .points = rows};
  job.from.swapped = ends.swap_in;
  job.to = {.data = between, .stride = 2 * columns, .points = rows};
  job.turns = split_.turns.data();
  job.turn_stride = split_.turn_stride;
  runGroups<T>(job, {1, columns}, {1, columns}, parallel);
  job = {.tables = &split_.along_row.tables(), .scale = ends.scale};
  job.from = {.data = between, .stride = 2, .points = columns};
  job.to = {.data = &to->re, .stride = 2 * rows, .points = columns, .swapped = ends.swap_out};
  runGroups<T>(job, {rows, 1}, {1, rows}, parallel);
}

template class Line<float>;
template class Line<double>;

}  // namespace tercel::kernels::fft
