#include "runtime/kernels/fft_lines.h"

namespace tercel::kernels::fft {
namespace {

// In lanes a transform of more points than the second level of caches holds is a slow one.
constexpr int64_t kLongestInLanes = 4096;
// One of fewer points is not worth splitting.
constexpr int64_t kShortestSplit = 48;

bool isReal(Direction d) { return d == Direction::real_forward || d == Direction::real_inverse; }

template <class T>
bool goInLanes(int64_t points, int64_t lines) {
  if (points < kShortestSplit) return true;
  const int64_t longest = isSmooth(points) ? points : 2 * points;
  return longest <= kLongestInLanes && 2 * lines > laneKernels<T>().lanes;
}

}  // namespace

template <class T>
Lines<T>::Lines(Direction direction, int64_t n, LineLayout layout)
    : direction_(direction), n_(n), points_(isReal(direction) && n % 2 == 0 ? n / 2 : n),
      layout_(layout), scale_(1) {
  if (direction == Direction::inverse || direction == Direction::real_inverse)
    scale_ = T(1) / static_cast<T>(n);
  if (points_ != n_) roots_ = unitRoots<T>(n_, points_ / 2 + 1);
  if (goInLanes<T>(points_, layout.lines()))
    lanes_.emplace(points_);
  else
    line_.emplace(points_);
}

template <class T>
void Lines<T>::run(const T* from, T* to, const Parallel& parallel) const {
  if (lanes_) return runInLanes(from, to, parallel);
  const int64_t half = n_ / 2 + 1, inner = layout_.inner;
  for (int64_t i = 0; i < layout_.lines(); ++i) {
    const int64_t first = 2 * (i / inner * n_ * inner + i % inner);
    if (direction_ == Direction::real_forward)
      runRealLine(from + i * n_, reinterpret_cast<Complex<T>*>(to) + i * half, parallel);
    else if (direction_ == Direction::real_inverse)
      runToReal(reinterpret_cast<const Complex<T>*>(from) + i * half, to + i * n_, parallel);
    else
      runLine(from + first, to + first, parallel);
  }
}

template <class T>
void Lines<T>::runInLanes(const T* from, T* to, const Parallel& parallel) const {
  const bool even = points_ != n_;
  LaneJob<T> job{.tables = &lanes_->tables(), .roots = roots_.data(), .scale = scale_};
  job.from = {.data = const_cast<T*>(from), .stride = 2 * layout_.inner, .points = points_};
  job.to = {.data = to, .stride = 2 * layout_.inner, .points = points_};
  LaneSide<T>* numbers = nullptr;
  LaneSide<T>* half = nullptr;
  switch (direction_) {
    case Direction::forward: break;
    case Direction::inverse: job.from.swapped = job.to.swapped = true; break;
    case Direction::real_forward:
      numbers = &job.from, half = &job.to;
      job.fold = even ? Fold::pack : Fold::none;
      break;
    case Direction::real_inverse:
      numbers = &job.to, half = &job.from;
      job.to.swapped = true;
      job.fold = even ? Fold::unpack : Fold::mirror;
      break;
  }
  if (half) half->points = n_ / 2 + 1;
  if (numbers && !even) numbers->real = true, numbers->stride = 1;
  runGroups<T>(job, layout_, layout_, parallel);
}

template <class T>
void Lines<T>::runLine(const T* from, T* to, const Parallel& parallel) const {
  const bool inverse = direction_ == Direction::inverse;
  const typename Line<T>::Ends ends{inverse, inverse, scale_};
  const auto* in = reinterpret_cast<const Complex<T>*>(from);
  auto* out = reinterpret_cast<Complex<T>*>(to);
  if (layout_.inner == 1) return line_->run(in, out, ends, parallel);
  KeptMemory<Complex<T>> memory;
  auto* line = memory.take(n_);
  for (int64_t k = 0; k < n_; ++k) line[k] = in[k * layout_.inner];
  line_->run(line, line, ends, parallel);
  for (int64_t k = 0; k < n_; ++k) out[k * layout_.inner] = line[k];
}

template <class T>
void Lines<T>::runRealLine(const T* from, Complex<T>* to, const Parallel& parallel) const {
  if (points_ != n_) {
    line_->run(reinterpret_cast<const Complex<T>*>(from), to, {}, parallel);
    return laneKernels<T>().pack(to, points_, roots_.data());
  }
  KeptMemory<Complex<T>> memory;
  auto* line = memory.take(n_);
  for (int64_t k = 0; k < n_; ++k) line[k] = {from[k], 0};
  line_->run(line, line, {}, parallel);
  std::copy_n(line, n_ / 2 + 1, to);
}

template <class T>
void Lines<T>::runToReal(const Complex<T>* from, T* to, const Parallel& parallel) const {
  KeptMemory<Complex<T>> memory;
  auto* line = memory.take(n_ + 1);
  if (points_ != n_) {
    std::copy_n(from, points_ + 1, line);
    laneKernels<T>().unpack(line, points_, roots_.data());
    return line_->run(line, reinterpret_cast<Complex<T>*>(to), {false, true, scale_}, parallel);
  }
  line[0] = {from[0].re, 0};
  for (int64_t k = 1; 2 * k < n_; ++k) {
    line[k] = from[k];
    line[n_ - k] = {from[k].re, -from[k].im};
  }
  line_->run(line, line, {true, true, scale_}, parallel);
  for (int64_t k = 0; k < n_; ++k) to[k] = line[k].re;
}

template class Lines<float>;
template class Lines<double>;

}  // namespace tercel::kernels::fft
