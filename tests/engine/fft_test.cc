#include "runtime/kernels/fft.h"

#include <gtest/gtest.h>

#include <cmath>
#include <complex>
#include <numbers>
#include <random>
#include <vector>

#include "runtime/engine/thread_pool.h"

namespace tercel::kernels {
namespace {

using Wide = std::complex<long double>;

struct Case {
  FftKind kind;
  int64_t batch, n;
  // Points of a line on either side; of a real one they are numbers.
  int64_t in() const { return kind == FftKind::irfft ? n / 2 + 1 : n; }
  int64_t out() const { return kind == FftKind::rfft ? n / 2 + 1 : n; }
};

// Lines of n points each; those of real transforms are mirrored or without imaginary parts.
std::vector<Wide> makeLines(const Case& c) {
  std::mt19937 random(11);
  std::normal_distribution<float> normal;
  std::vector<Wide> lines;
  for (int64_t i = 0; i < c.batch * c.n; ++i) {
    const int64_t k = i % c.n, mirror = i - k + (c.n - k) % c.n;
    Wide value(normal(random), c.kind == FftKind::rfft ? 0 : normal(random));
    if (c.kind == FftKind::irfft && mirror == i) value = value.real();
    if (c.kind == FftKind::irfft && mirror < i) value = std::conj(lines[size_t(mirror)]);
    lines.push_back(value);
  }
  return lines;
}

bool isInverse(FftKind kind) { return kind == FftKind::ifft || kind == FftKind::irfft; }

std::vector<Wide> rootsOf(const Case& c) {
  std::vector<Wide> roots;
  for (int64_t k = 0; k < c.n; ++k) {
    const long double angle = 2 * std::numbers::pi_v<long double> * k / c.n;
    roots.push_back(std::polar(1.0L, isInverse(c.kind) ? angle : -angle));
  }
  return roots;
}

Wide expected(const Case& c, const std::vector<Wide>& roots, const Wide* line, int64_t k) {
  long double re = 0, im = 0;
  for (int64_t j = 0; j < c.n; ++j) {
    const Wide root = roots[size_t(j * k % c.n)];
    re += line[j].real() * root.real() - line[j].imag() * root.imag();
    im += line[j].real() * root.imag() + line[j].imag() * root.real();
  }
  return Wide(re, im) / (isInverse(c.kind) ? static_cast<long double>(c.n) : 1.0L);
}

template <class T>
std::vector<T> numbersOf(const Case& c, const std::vector<Wide>& lines) {
  std::vector<T> numbers;
  for (int64_t i = 0; i < c.batch * c.n; ++i) {
    if (i % c.n >= c.in()) continue;
    numbers.push_back(static_cast<T>(lines[size_t(i)].real()));
    if (c.kind != FftKind::rfft) numbers.push_back(static_cast<T>(lines[size_t(i)].imag()));
  }
  return numbers;
}

template <class T>
void check(const Case& c, const Parallel& parallel = {}) {
  SCOPED_TRACE(testing::Message() << "kind " << int(c.kind) << ", " << c.batch << " of " << c.n);
  const std::vector<Wide> lines = makeLines(c), roots = rootsOf(c);
  const std::vector<T> in = numbersOf<T>(c, lines);
  const size_t parts = c.kind == FftKind::irfft ? 1 : 2;
  const T guard = -77;
  std::vector<T> out(static_cast<size_t>(c.batch * c.out()) * parts + 1, guard);
  const int64_t lengths[] = {c.n};
  auto fft = makeFft<T>({c.kind, c.batch, lengths});
  ASSERT_TRUE(fft->run(in.data(), out.data(), parallel).ok());
  EXPECT_EQ(out.back(), guard);
  long double error = 0, largest = 0;
  const int64_t every = c.n > 2000 ? 997 : 1;  // the sums below take n steps each
  for (int64_t line : {int64_t{0}, c.batch / 2, c.batch - 1})
    for (int64_t k = 0; k < c.out(); k += every) {
      const Wide right = expected(c, roots, &lines[size_t(line * c.n)], k);
      const T* got = &out[size_t(line * c.out() + k) * parts];
      error = std::max(error, std::abs(Wide(got[0], parts == 2 ? got[1] : 0) - right));
      largest = std::max(largest, std::abs(right));
    }
  EXPECT_LE(error, largest * (sizeof(T) == 4 ? 1e-6L : 2e-15L));
}

constexpr FftKind kKinds[] = {FftKind::fft, FftKind::ifft, FftKind::rfft, FftKind::irfft};

// Each radix, their products, primes that take a convolution; one line, a few, and groups of lanes
// that are not full.
TEST(Fft, LengthsAndBatches) {
  for (FftKind kind : kKinds)
    for (int64_t batch : {1, 3, 21})
      for (int64_t n : {1,  2,  3,  4,  5,  6,  7,  8,   9,   10,  11,  13,  16,   17,  31,
                        32, 37, 48, 60, 64, 97, 98, 100, 121, 169, 210, 343, 575, 976, 1009, 1024}) {
        check<float>({kind, batch, n});
        check<double>({kind, batch, n});
      }
}

TEST(Fft, LongLinesOnThreads) {
  engine::ThreadPool pool(3);
  const Parallel parallel = pool.parallel();
  for (FftKind kind : kKinds)
    for (int64_t n : {4097, 5000, 6144, 10007, 20022}) {
      check<float>({kind, 2, n}, parallel);
      check<double>({kind, 1, n}, parallel);
    }
}

// Both dimensions of each array, the first one with its elements apart.
TEST(Fft, SeveralDimensions) {
  for (auto [rows, columns] : {std::pair<int64_t, int64_t>{3, 5}, {40, 33}, {6, 1}, {64, 100}}) {
    std::vector<Wide> lines = makeLines({FftKind::fft, rows, columns});
    std::vector<float> in = numbersOf<float>({FftKind::fft, rows, columns}, lines);
    std::vector<float> out(in.size());
    const int64_t lengths[] = {rows, columns};
    auto fft = makeFft<float>({FftKind::fft, 1, lengths});
    ASSERT_TRUE(fft->run(in.data(), out.data(), {}).ok());
    for (int64_t r = 0; r < rows; r += 2)
      for (int64_t k = 0; k < columns; k += 3) {
        Wide sum = 0;
        for (int64_t i = 0; i < rows * columns; ++i) {
          const long double turns = static_cast<long double>(i / columns * r % rows) / rows +
                                    static_cast<long double>(i % columns * k % columns) / columns;
          sum += lines[size_t(i)] * std::polar(1.0L, -2 * std::numbers::pi_v<long double> * turns);
        }
        const float* got = &out[size_t(2 * (r * columns + k))];
        EXPECT_LE(std::abs(Wide(got[0], got[1]) - sum), 2e-5L * std::sqrt(double(rows * columns)));
      }
  }
}

// What a group of lanes computes for one line depends on no other.
TEST(Fft, LinesAreApart) {
  const Case c{FftKind::fft, 19, 30};
  std::vector<float> in = numbersOf<float>(c, makeLines(c));
  std::vector<float> clean(in.size()), out(in.size());
  const int64_t lengths[] = {c.n};
  auto fft = makeFft<float>({c.kind, c.batch, lengths});
  ASSERT_TRUE(fft->run(in.data(), clean.data(), {}).ok());
  in[2 * 30 * 4 + 7] = NAN;
  ASSERT_TRUE(fft->run(in.data(), out.data(), {}).ok());
  for (size_t i = 0; i < out.size(); ++i)
    if (i / 60 == 4)
      EXPECT_TRUE(std::isnan(out[i]) || std::isnan(out[i ^ 1])) << i;
    else
      EXPECT_EQ(out[i], clean[i]) << i;
}

}  // namespace
}  // namespace tercel::kernels
