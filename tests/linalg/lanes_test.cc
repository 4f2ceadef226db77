// Small matrices side by side: every instruction set of this machine gives what its best one does.
#include "runtime/linalg/lanes.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <vector>

#include "runtime/kernels/isa.h"

namespace tercel::linalg {
namespace {

template <class T>
struct Arrays {
  std::vector<T> a, given, taus, u, vh;
  std::vector<decltype(std::abs(T()))> values;
  std::vector<int32_t> pivots, info;

  explicit Arrays(size_t size) : a(size), given(size), taus(size), u(size), vh(size), values(size), pivots(size, 7), info(size, 7) {
    std::mt19937 bits(5);
    std::normal_distribution<double> normal;
    for (auto* values : {&a, &given})
      for (T& x : *values) {
        if constexpr (std::is_arithmetic_v<T>) {
          x = static_cast<T>(normal(bits));
        } else {
          x = T(static_cast<typename T::value_type>(normal(bits)),
                static_cast<typename T::value_type>(normal(bits)));
        }
      }
  }
};

constexpr int64_t kSide = 9, kCount = 2;

template <class T>
Arrays<T> run(void (*function)(const lanes::Job<T>&)) {
  Arrays<T> arrays(kCount * kSide * kSide);
  for (int64_t b = 0; b < kCount; ++b)
    for (int64_t i = 0; i < kSide; ++i) {
      const auto at = static_cast<size_t>((b * kSide + i) * kSide + i);
      arrays.a[at] = arrays.given[at] = T(4 * kSide * (i + 1));
    }
  alignas(64) static std::byte scratch[(6 * kSide + 9) * kSide * 2 * 64];
  lanes::Job<T> job{.a = arrays.a.data(),
                    .given = arrays.given.data(),
                    .reflectors = arrays.given.data(),
                    .taus = arrays.taus.data(),
                    .pivots = arrays.pivots.data(),
                    .values = arrays.values.data(),
                    .u = arrays.u.data(),
                    .vh = arrays.vh.data(),
                    .has_vectors = true,
                    .info = arrays.info.data(),
                    .diagonals = {arrays.given.data(), arrays.a.data(), arrays.given.data()},
                    .factors = {arrays.taus.data(), arrays.u.data(), arrays.vh.data()},
                    .m = kSide,
                    .n = kSide,
                    .k = kSide,
                    .given_columns = kSide,
                    .lead = kSide + 1,
                    .given_lead = kSide,
                    .high = kSide,
                    .triangle = {},
                    .count = kCount,
                    .scratch = scratch};
  function(job);
  return arrays;
}

template <class T>
class Lanes : public testing::Test {
 protected:
  void expectSame(void (*best)(const lanes::Job<T>&), void (*other)(const lanes::Job<T>&)) {
    const Arrays<T> wanted = run<T>(best), got = run<T>(other);
    const double tolerance = 1e4 * std::numeric_limits<decltype(std::abs(T()))>::epsilon();
    for (size_t i = 0; i < wanted.a.size(); ++i) {
      EXPECT_NEAR(std::abs(got.a[i] - wanted.a[i]), 0, tolerance * (1 + std::abs(wanted.a[i])));
      EXPECT_NEAR(std::abs(got.taus[i] - wanted.taus[i]), 0, tolerance);
      EXPECT_NEAR(std::abs(got.u[i] - wanted.u[i]), 0, tolerance);
      EXPECT_NEAR(std::abs(got.vh[i] - wanted.vh[i]), 0, tolerance);
      EXPECT_NEAR(got.values[i], wanted.values[i], tolerance * (1 + wanted.values[i]));
    }
    EXPECT_EQ(got.pivots, wanted.pivots);
    EXPECT_EQ(got.info, wanted.info);
  }
};
using Types = testing::Types<float, double, std::complex<float>, std::complex<double>>;
TYPED_TEST_SUITE(Lanes, Types);

TYPED_TEST(Lanes, AreTheSameOnEachInstructionSet) {
#define EXPECT_SAME(function) \
  this->expectSame(lanes::function<TypeParam>, lanes::TERCEL_TESTED::function<TypeParam>);
#define TERCEL_TESTED baseline
  TERCEL_LANE_FUNCTIONS(EXPECT_SAME)
#undef TERCEL_TESTED
#ifdef __x86_64__
#define TERCEL_TESTED avx2
  if (kernels::isaOfThisMachine() >= kernels::Isa::avx2) {
    TERCEL_LANE_FUNCTIONS(EXPECT_SAME)
  }
#endif
}

}  // namespace
}  // namespace tercel::linalg
