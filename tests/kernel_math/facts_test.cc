// Single facts: sine, cosine and tangent where the reduction is hardest (values from mpmath with
// 1100 digits), values that must be exact, and bounds and symmetries that users rely on.
#include <gtest/gtest.h>

#include <cmath>
#include <initializer_list>

#include "compiler/kernel/math/math.h"
#include "tests/kernel_math/oracle.h"
#include "tests/kernel_math/scalar_builder.h"

namespace tercel::math {
namespace {

struct Angle {
  double x, sine, cosine, tangent;
};

const Angle kAngles64[] = {
    {0x1.0f0cf064dd592p+73, -0x1.b453ab76bf397p-1, 0x1.0be2cef01c8f4p-1, -0x1.a0f79c1b6b257p+0},
    {0x1.6ac5b262ca1ffp+849, 1, -0x1.14ae72e6ba22fp-61, -0x1.d9ba9a7975636p+60},
    {0x1.fffffffffffffp+1023, 0x1.452fc98b34e97p-8, -0x1.fffe62ecfab75p-1, -0x1.4530cfe729484p-8},
    {0x1p+1000, -0x1.460b8ae1c886ep-3, 0x1.f9785160c8815p-1, -0x1.4a41d560c08ccp-3},
    {0x1.921fb54442d18p+1, 0x1.1a62633145c07p-53, -1, -0x1.1a62633145c07p-53},
    {0x1p+30, -0x1.3c12353728cafp-1, 0x1.92cb46a920144p-1, -0x1.91c3c126f9d13p-1},
    {0x1.2345678p+31, 0x1.b6e30883d81b4p-1, -0x1.07abbeed905fbp-1, -0x1.aa1e5426a2fe8p+0},
    {0x1.dffffffffffffp+29, 0x1.d501658a0ae26p-3, -0x1.f264bed63b396p-1, -0x1.e1cf424998ba3p-3},
};

const Angle kAngles32[] = {
    {0x1.0f0cfp+73, -0x1.77d988f563719p-1, 0x1.5baded759a40dp-1, -0x1.14bdfb7ac8b93p+0},
    {0x1.fffffep+127, -0x1.0b33665089575p-1, 0x1.b4bf2c79bdfcep-1, -0x1.393d94b4988c2p-1},
    {0x1p+127, 0x1.3f2c62cde42bdp-1, 0x1.90571d9316bccp-1, 0x1.9831d5733d85bp-1},
    {0x1p+16, 0x1.62566735b8513p-1, -0x1.719453109288bp-1, -0x1.eae2708cf5425p-1},
    {0x1.0001p+16, -0x1.de29f1835c200p-3, -0x1.f1d96dea65228p-1, 0x1.ebc14614ffd51p-3},
    {0x1.86ap+16, 0x1.24daa9c527e96p-5, -0x1.ffac3841b3da7p-1, -0x1.250a9d503313dp-5},
    {0x1.921fb6p+1, -0x1.777a5cf72cec6p-24, -0x1.fffffffffffdep-1, 0x1.777a5cf72cedfp-24},
    {0x1.f37c8ap+95, 1, -0x1.bbdd52a58eafbp-30, -0x1.274c1bb79adb7p+29},
};

template <class B, class W, size_t n>
void checkAngles(const Angle (&angles)[n], W) {
  using T = typename B::V;
  B b;
  for (const Angle& a : angles) {
    for (int side : {1, -1}) {
      T x = static_cast<T>(side * a.x);
      EXPECT_LE(oracle::ulpError(sine(b, x), W{side * a.sine}), 2) << a.x;
      EXPECT_LE(oracle::ulpError(cosine(b, x), W{a.cosine}), 2) << a.x;
      EXPECT_LE(oracle::ulpError(tan(b, x), W{side * a.tangent}), 4) << a.x;
    }
  }
}

TEST(Facts, HardAngles) {
  checkAngles<ScalarBuilder<float>>(kAngles32, 0.0);
  checkAngles<HookedScalarBuilder<float>>(kAngles32, 0.0);
  checkAngles<LoneScalarBuilder<float>>(kAngles32, 0.0);
  checkAngles<ScalarBuilder<double>>(kAngles64, 0.0L);
  checkAngles<HookedScalarBuilder<double>>(kAngles64, 0.0L);
  checkAngles<LoneScalarBuilder<double>>(kAngles64, 0.0L);
}

template <class T>
class FactsTest : public testing::Test {};
using Formats = testing::Types<float, double>;
TYPED_TEST_SUITE(FactsTest, Formats);

TYPED_TEST(FactsTest, ExactValues) {
  using T = TypeParam;
  ScalarBuilder<T> b;
  const T inf = std::numeric_limits<T>::infinity();
  EXPECT_EQ(exponential(b, T(0)), T(1));
  EXPECT_EQ(exponential(b, T(1)), static_cast<T>(std::exp(1.0L)));
  EXPECT_EQ(log(b, T(1)), T(0));
  EXPECT_EQ(cosine(b, T(0)), T(1));
  EXPECT_EQ(cosh(b, T(0)), T(1));
  EXPECT_EQ(acos(b, T(1)), T(0));
  EXPECT_EQ(acosh(b, T(1)), T(0));
  EXPECT_EQ(logistic(b, T(0)), T(0.5));
  EXPECT_EQ(logistic(b, inf), T(1));
  EXPECT_EQ(logistic(b, -inf), T(0));
  EXPECT_EQ(tanh(b, T(30)), T(1));
  EXPECT_EQ(erf(b, T(10)), T(1));
  EXPECT_EQ(erfc(b, T(0)), T(1));
  EXPECT_EQ(erfc(b, inf), T(0));
  EXPECT_EQ(erfc(b, -inf), T(2));
  EXPECT_EQ(erf_inv(b, T(1)), inf);
  EXPECT_EQ(erf_inv(b, T(-1)), -inf);
  EXPECT_TRUE(std::isnan(erf_inv(b, std::nextafter(T(1), inf))));
  EXPECT_TRUE(std::signbit(erf_inv(b, T(-0.0))));
  EXPECT_EQ(lgamma(b, T(1)), T(0));
  EXPECT_EQ(lgamma(b, T(2)), T(0));
  EXPECT_EQ(lgamma(b, T(-3)), inf);
  EXPECT_EQ(lgamma(b, -inf), inf);
  EXPECT_TRUE(std::isnan(digamma(b, T(0))));
  EXPECT_TRUE(std::isnan(digamma(b, T(-3))));
  EXPECT_EQ(digamma(b, inf), inf);
  EXPECT_EQ(bessel_i0e(b, T(0)), T(1));
  EXPECT_EQ(bessel_i0e(b, inf), T(0));
  for (int k = -1100; k < 1100; ++k) EXPECT_EQ(exp2(b, T(k)), std::ldexp(T(1), k));
  EXPECT_EQ(atan(b, inf), static_cast<T>(std::acos(0.0L)));
  for (int i = 1; i < 500; ++i) {
    EXPECT_EQ(cbrt(b, T(i) * T(i) * T(i)), T(i));
    EXPECT_EQ(rsqrt(b, T(i) * T(i)), 1 / T(i));
  }
}

TYPED_TEST(FactsTest, Bounds) {
  using T = TypeParam;
  ScalarBuilder<T> plain;
  HookedScalarBuilder<T> hooked;
  LoneScalarBuilder<T> lone;
  for (int i = -200000; i <= 200000; ++i) {
    T x = T(i) * T(1.00001e-4);
    auto bounded = [&](auto& b) {
      return std::fabs(sine(b, x)) <= 1 && std::fabs(cosine(b, x)) <= 1 &&
             std::fabs(tanh(b, x)) <= 1 && std::fabs(erf(b, x)) <= 1 && logistic(b, x) <= 1 &&
             cosh(b, x) >= 1 && erfc(b, x) >= 0 && erfc(b, x) <= 2;
    };
    ASSERT_TRUE(bounded(plain) && bounded(hooked) && bounded(lone)) << x;
  }
}

TYPED_TEST(FactsTest, OddFunctionsAreOdd) {
  using T = TypeParam;
  using Builder = ScalarBuilder<T>;
  using Function = T (*)(Builder&, T);
  Builder b;
  for (int i = 0; i < 20000; ++i) {
    T x = T(i) * T(1.0001e-3);
    for (Function f :
         std::initializer_list<Function>{sine, tan, tanh, erf, sinh, asinh, atan, cbrt}) {
      ASSERT_EQ(f(b, -x), -f(b, x)) << x;
    }
    ASSERT_EQ(erf_inv(b, -x / 21), -erf_inv(b, x / 21)) << x;
  }
}

}  // namespace
}  // namespace tercel::math
