// Quotients by two products against division.
#include "compiler/kernel/exact_inverse.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>

namespace tercel::kernel {
namespace {

template <typename T>
T byProducts(T x, const ExactInverse<T>& of) {
  return std::fma(x, of.high, x * of.low);
}

// Each significand, near the least magnitude and in the middle.
TEST(ExactInverse, EveryFloatIsDividedAsByDivision) {
  for (float divisor : {3.0f, -7.0f, 0.02f, 255.0f, 1e-5f, 3.1415927f, 1.5f}) {
    const auto of = exactInverse(divisor);
    ASSERT_TRUE(of) << divisor;
    const int lowest = std::ilogb(of->least);
    for (int exponent : {lowest, lowest + 1, 0})
      for (uint32_t fraction = 0; fraction < 1u << 23; ++fraction) {
        const float x = std::ldexp(1 + static_cast<float>(fraction) / (1 << 23), exponent);
        ASSERT_EQ(byProducts(x, *of), x / divisor) << x << " / " << divisor;
      }
  }
}

TEST(ExactInverse, RefusesWhatItWouldRoundOtherwise) {
  std::mt19937 random(0);
  int refused = 0;
  for (int i = 0; i < 40; ++i) {
    const float divisor = 1 + static_cast<float>(random() >> 9) / (1 << 23);
    if (exactInverse(divisor)) continue;
    ++refused;
    float high = 1 / divisor;
    if (std::fma(high, -divisor, 1.0f) < 0) high = std::nextafter(high, 0.0f);
    const ExactInverse<float> of{high, std::fma(high, -divisor, 1.0f) / divisor, 0};
    int wrong = 0;
    for (uint32_t fraction = 0; fraction < 1u << 23; ++fraction) {
      const float x = 1 + static_cast<float>(fraction) / (1 << 23);
      wrong += byProducts(x, of) != x / divisor;
    }
    EXPECT_GT(wrong, 0) << divisor;
  }
  EXPECT_GT(refused, 0);
  EXPECT_LT(refused, 10);
}

TEST(ExactInverse, DoublesOfAnySize) {
  std::mt19937_64 random(0);
  for (double divisor : {3.0, -0.1, 6.0, 1e10, 1.0 / 3}) {
    const auto of = exactInverse(divisor);
    ASSERT_TRUE(of) << divisor;
    for (int i = 0; i < 1'000'000; ++i) {
      const auto x = std::bit_cast<double>(random());
      if (std::isnan(x) || std::abs(x) < of->least) continue;
      ASSERT_EQ(byProducts(x, *of), x / divisor) << x << " / " << divisor;
    }
  }
}

TEST(ExactInverse, ZerosAndInfinitiesKeepTheirSign) {
  constexpr float inf = std::numeric_limits<float>::infinity();
  for (float divisor : {3.0f, -3.0f, 0.02f, -10.0f})
    for (float x : {0.0f, -0.0f, inf, -inf}) {
      const float quotient = byProducts(x, *exactInverse(divisor)), expected = x / divisor;
      EXPECT_EQ(quotient, expected);
      EXPECT_EQ(std::signbit(quotient), std::signbit(expected));
    }
}

TEST(ExactInverse, RefusesWhatHasNoInverse) {
  for (float divisor : {0.0f, std::numeric_limits<float>::infinity(), 1e-40f, 3e38f,
                        std::numeric_limits<float>::quiet_NaN()})
    EXPECT_FALSE(exactInverse(divisor)) << divisor;
}

}  // namespace
}  // namespace tercel::kernel
