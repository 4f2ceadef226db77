#include "runtime/kernels/fft_plan.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <type_traits>

#include "runtime/kernels/kept_memory.h"

namespace tercel::kernels::fft {
namespace {

// Roots are computed in this and rounded once.
template <class T>
using Wide = std::conditional_t<std::is_same_v<T, float>, double, long double>;

// e^(-2 pi i k / n), the angle brought below an eighth of the circle by exact steps.
template <class W>
Complex<W> unitRoot(int64_t k, int64_t n) {
  if (2 * k > n) {
    Complex<W> r = unitRoot<W>(n - k, n);
    return {r.re, -r.im};
  }
  if (4 * k > n) {
    Complex<W> r = unitRoot<W>(n - 2 * k, 2 * n);
    return {-r.re, r.im};
  }
  if (8 * k > n) {
    Complex<W> r = unitRoot<W>(n - 4 * k, 4 * n);
    return {-r.im, -r.re};
  }
  W angle = 2 * std::numbers::pi_v<W> * static_cast<W>(k) / static_cast<W>(n);
  return {std::cos(angle), -std::sin(angle)};
}

// All roots of n as products of two from short lists.
template <class T>
class Roots {
  using W = Wide<T>;

 public:
  explicit Roots(int64_t n) : n_(n) {
    while ((int64_t{1} << (2 * shift_)) < n) ++shift_;
    for (int64_t k = 0; k < int64_t{1} << shift_; ++k) low_.push_back(unitRoot<W>(k % n, n));
    for (int64_t k = 0; k < n; k += int64_t{1} << shift_) high_.push_back(unitRoot<W>(k, n));
  }
  // k in [0, n).
  Complex<T> operator()(int64_t k) const {
    Complex<W> a = high_[static_cast<size_t>(k >> shift_)];
    Complex<W> b = low_[static_cast<size_t>(k & ((int64_t{1} << shift_) - 1))];
    return {static_cast<T>(a.re * b.re - a.im * b.im), static_cast<T>(a.re * b.im + a.im * b.re)};
  }
  int64_t size() const { return n_; }

 private:
  int64_t n_;
  int shift_ = 0;
  std::vector<Complex<W>> low_, high_;
};

int64_t withoutSmallFactors(int64_t n) {
  while (n % 2 == 0) n /= 2;
  for (int64_t p = 3; p <= kMaxOddRadix; p += 2)
    while (n % p == 0) n /= p;
  return n;
}

std::vector<int32_t> radices(int64_t n) {
  std::vector<int32_t> list;
  for (int64_t p = 3; p <= kMaxOddRadix; p += 2)
    for (; n % p == 0; n /= p) list.push_back(static_cast<int32_t>(p));
  // Fours make up for what eights leave over; a two is left of 2 alone.
  for (; n > 8 && n % 8 == 0 && n != 16; n /= 8) list.push_back(8);
  for (; n == 16; n /= 4) list.push_back(4);
  if (n > 1) list.push_back(static_cast<int32_t>(n));
  return list;
}

// The shortest length of small factors alone that holds a convolution.
int64_t convolutionLength(int64_t least) {
  int64_t best = 1;
  while (best < least) best *= 2;
  for (int64_t odd : {3, 5, 7, 9, 15, 25, 27, 45}) {
    int64_t length = odd;
    while (length < least) length *= 2;
    best = std::min(best, length);
  }
  return best;
}

// The divisor of n nearest below its root, one that fills all lanes if there is any.
int64_t splitAt(int64_t n) {
  int64_t best = 1, best_full = 0;
  for (int64_t d = 2; d * d <= n; ++d) {
    if (n % d != 0) continue;
    best = d;
    if (d % kMaxLanes == 0 && n / d % kMaxLanes == 0) best_full = d;
  }
  return best_full * 8 >= best ? best_full : best;
}

}  // namespace

template <class T>
int64_t scratchNumbers(const LaneTables<T>& tables) {
  return 4 * (tables.longest() + 1) * laneKernels<T>().lanes;
}

bool isSmooth(int64_t n) { return withoutSmallFactors(n) == 1; }

template <class T>
Points<T> unitRoots(int64_t n, int64_t count) {
  Roots<T> roots(n);
  Points<T> list;
  for (int64_t k = 0; k < count; ++k) list.push_back(roots(k % n));
  return list;
}

template <class T>
LanePlan<T>::LanePlan(int64_t n) {
  tables_.n = n;
  isSmooth(n) ? makePasses() : makeConvolution();
}

template <class T>
void LanePlan<T>::makePasses() {
  int64_t left = tables_.n, stride = 1;
  for (int32_t radix : radices(tables_.n)) {
    const int64_t groups = left / radix;
    Roots<T> roots(left);
    Points<T> twiddles;
    for (int64_t p = 0; p < groups; ++p)
      for (int64_t k = 1; k < radix; ++k) twiddles.push_back(roots(p * k));
    points_.push_back(std::move(twiddles));
    const Complex<T>* turned = points_.back().data();
    points_.push_back(unitRoots<T>(radix, radix));
    passes_.push_back({radix, groups, stride, turned, points_.back().data()});
    left = groups;
    stride *= radix;
  }
  tables_.passes = static_cast<int32_t>(passes_.size());
  tables_.pass = passes_.data();
}

template <class T>
ChirpTables<T>::ChirpTables(int64_t length) : n(length), m(convolutionLength(2 * length - 1)) {
  Roots<T> roots(2 * n);
  filter.resize(static_cast<size_t>(m));
  const T scale = T(1) / static_cast<T>(m);
  // k^2 modulo 2n, by its differences.
  for (int64_t k = 0, square = 0; k < n; ++k) {
    Complex<T> root = roots(square), turned{root.re * scale, -root.im * scale};
    chirp.push_back(root);
    filter[static_cast<size_t>(k)] = turned;
    filter[static_cast<size_t>(k == 0 ? 0 : m - k)] = turned;
    square = (square + 2 * k + 1) % (2 * n);
  }
}

// The filter's spectrum is computed like any other transform, in one of the lanes.
template <class T>
void LanePlan<T>::makeConvolution() {
  ChirpTables<T> made(tables_.n);
  inner_ = std::make_unique<LanePlan>(made.m);
  const LaneKernels<T>& kernels = laneKernels<T>();
  LaneJob<T> job{.tables = &inner_->tables(), .scale = 1};
  T* data = &made.filter[0].re;
  job.from = {.data = data, .offset = {}, .stride = 2, .points = made.m};
  job.to = job.from;
  KeptMemory<T> scratch;
  kernels.run(job, scratch.take(scratchNumbers(inner_->tables())));
  points_.push_back(std::move(made.chirp));
  tables_.chirp = points_.back().data();
  points_.push_back(std::move(made.filter));
  tables_.spectrum = points_.back().data();
  tables_.inner = &inner_->tables();
}

template <class T>
SplitPlan<T>::SplitPlan(int64_t n)
    : rows(splitAt(n)),
      columns(n / rows),
      along_column(rows),
      along_row(columns),
      turn_stride((columns + kMaxLanes - 1) / kMaxLanes * kMaxLanes) {
  Roots<T> roots(n);
  turns.reserve(static_cast<size_t>(rows * turn_stride));
  for (int64_t r = 0; r < rows; ++r)
    for (int64_t c = 0; c < turn_stride; ++c)
      turns.push_back(roots(r * std::min(c, columns - 1)));
}

template int64_t scratchNumbers(const LaneTables<float>&);
template int64_t scratchNumbers(const LaneTables<double>&);
template class LanePlan<float>;
template class LanePlan<double>;
template struct SplitPlan<float>;
template struct SplitPlan<double>;
template struct ChirpTables<float>;
template struct ChirpTables<double>;
template Points<float> unitRoots(int64_t, int64_t);
template Points<double> unitRoots(int64_t, int64_t);

}  // namespace tercel::kernels::fft
