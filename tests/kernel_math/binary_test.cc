// power, atan2 and remainder against libm: all pairs of special values, and random pairs.
#include <gtest/gtest.h>

#include <bit>
#include <cstdint>
#include <random>
#include <vector>

#include "compiler/kernel/math/math.h"
#include "tests/kernel_math/oracle.h"
#include "tests/kernel_math/scalar_builder.h"

namespace tercel::math {
namespace {

template <class T>
struct Wider;
template <>
struct Wider<float> {
  using Type = double;
  using Bits = uint32_t;
};
template <>
struct Wider<double> {
  using Type = long double;
  using Bits = uint64_t;
};

template <class T>
class BinaryTest : public testing::Test {
 public:
  using W = typename Wider<T>::Type;
  using Limits = std::numeric_limits<T>;

  template <class F, class G>
  void check(F f, G want, T x, T y, double limit) {
    ScalarBuilder<T> plain;
    HookedScalarBuilder<T> hooked;
    LoneScalarBuilder<T> lone;
    for (T got : {f(plain, x, y), f(hooked, x, y), f(lone, x, y)}) {
      double error = oracle::ulpError(got, want(W{x}, W{y}));
      if (error > limit && ++failures_ < 20) {
        ADD_FAILURE() << x << ", " << y << ": " << got << ", want " << want(W{x}, W{y}) << ", "
                      << error << " ULP";
      }
    }
  }

  static std::vector<T> special() {
    std::vector<T> values;
    for (T x : {T(0),
                T(0.1),
                T(0.5),
                T(1),
                T(1.5),
                T(2),
                T(3),
                T(4),
                T(1e10),
                Limits::epsilon(),
                std::nextafter(T(1), T(0)),
                std::nextafter(T(1), T(2)),
                T(1) / Limits::epsilon(),
                2 / Limits::epsilon() - 1,
                2 / Limits::epsilon(),
                Limits::min(),
                Limits::max(),
                Limits::denorm_min(),
                3 * Limits::denorm_min(),
                Limits::infinity(),
                Limits::quiet_NaN()}) {
      values.push_back(x);
      values.push_back(-x);
    }
    return values;
  }

  template <class F, class G>
  void specialPairs(F f, G want, double limit) {
    for (T x : special()) {
      for (T y : special()) check(f, want, x, y, limit);
    }
  }

  T anyBits() { return std::bit_cast<T>(static_cast<typename Wider<T>::Bits>(random_())); }
  T uniform(double low, double high) {
    return static_cast<T>(std::uniform_real_distribution<double>(low, high)(random_));
  }

 private:
  std::mt19937_64 random_{11};
  int failures_ = 0;
};

using Formats = testing::Types<float, double>;
TYPED_TEST_SUITE(BinaryTest, Formats);

TYPED_TEST(BinaryTest, Power) {
  auto f = [](auto& b, auto x, auto y) { return power(b, x, y); };
  auto want = [](auto x, auto y) { return oracle::pow(x, y); };
  this->specialPairs(f, want, 1);
  const double widest = std::numeric_limits<TypeParam>::max_exponent;
  for (int i = 0; i < 60000; ++i) {
    this->check(f, want, this->anyBits(), this->anyBits(), 1);
    TypeParam x = std::exp2(this->uniform(-20, 20));
    this->check(f, want, x, this->uniform(-1.1, 1.1) * widest / 20, 1);
    TypeParam close = 1 + this->uniform(-0.01, 0.01);
    this->check(f, want, close, this->uniform(-100, 100) * widest, 1);
    this->check(f, want, -x, std::round(this->uniform(-9, 9)), 1);
  }
}

// As a lowering for few lanes calls it, and with its result.
class NarrowPower : public BinaryTest<float> {};

TEST_F(NarrowPower, IsRoundedOnce) {
  auto f = [](auto& b, float x, float y) {
    using Narrow = std::remove_reference_t<decltype(b)>;
    using Wide = std::conditional_t<std::is_same_v<Narrow, ScalarBuilder<float>>,
                                    ScalarBuilder<double>, HookedScalarBuilder<double>>;
    Wide wide;
    return static_cast<float>(powerOfNarrow(wide, double{x}, double{y}));
  };
  auto want = [](auto x, auto y) { return oracle::pow(x, y); };
  constexpr double kLimit = 0.6;
  specialPairs(f, want, kLimit);
  for (int i = 0; i < 60000; ++i) {
    check(f, want, anyBits(), anyBits(), kLimit);
    check(f, want, std::exp2(uniform(-20, 20)), uniform(-7, 7), kLimit);
    check(f, want, 1 + uniform(-0.01, 0.01), uniform(-9000, 9000), kLimit);
    check(f, want, -std::exp2(uniform(-20, 20)), std::round(uniform(-9, 9)), kLimit);
  }
  ScalarBuilder<float> b;
  for (int x = 1; x < 200; ++x) {
    const auto v = static_cast<float>(x);
    EXPECT_EQ(f(b, v * v, 0.5f), v);
    EXPECT_EQ(f(b, v, 3), v * v * v);
  }
}

TYPED_TEST(BinaryTest, PowerIsExactWhereItCanBe) {
  ScalarBuilder<TypeParam> b;
  for (int x = 1; x < 3000; ++x) {
    TypeParam v = x;
    EXPECT_EQ(power(b, v, TypeParam(1)), v);
    EXPECT_EQ(power(b, v, TypeParam(2)), v * v);
    EXPECT_EQ(power(b, v * v, TypeParam(0.5)), v);
    if (x < 200) {
      EXPECT_EQ(power(b, v, TypeParam(3)), v * v * v);
    }
  }
}

TYPED_TEST(BinaryTest, Atan2) {
  auto f = [](auto& b, auto y, auto x) { return atan2(b, y, x); };
  auto want = [](auto y, auto x) { return oracle::atan2(y, x); };
  this->specialPairs(f, want, 2);
  for (int i = 0; i < 60000; ++i) {
    this->check(f, want, this->anyBits(), this->anyBits(), 2);
    this->check(f, want, this->uniform(-2, 2), this->uniform(-2, 2), 2);
  }
}

TYPED_TEST(BinaryTest, Remainder) {
  auto f = [](auto& b, auto x, auto y) { return remainder(b, x, y); };
  auto want = [](auto x, auto y) { return oracle::fmod(x, y); };
  this->specialPairs(f, want, 0);
  for (int i = 0; i < 40000; ++i) {
    TypeParam any = this->anyBits();
    this->check(f, want, any, this->anyBits(), 0);
    this->check(f, want, this->uniform(-100, 100), this->uniform(-3, 3), 0);
    // A multiple and its neighbours: quotients that round up to an integer.
    TypeParam y = this->uniform(0.001, 5), x = y * std::round(this->uniform(1, 1e6));
    for (TypeParam near : {x, std::nextafter(x, TypeParam(0)), std::nextafter(x, 2 * x), x + y / 2}) {
      this->check(f, want, near, y, 0);
    }
    // Quotients around the largest that one step takes, and divisors of all sizes.
    TypeParam large = std::exp2(this->uniform(-1, 1) * std::numeric_limits<TypeParam>::max_exponent);
    TypeParam far = large * std::exp2(this->uniform(-3, std::numeric_limits<TypeParam>::digits));
    this->check(f, want, far, large, 0);
    this->check(f, want, std::nextafter(large, TypeParam(0)), large, 0);
  }
}

TYPED_TEST(BinaryTest, RemainderByPowersOfTwo) {
  for (double y : {1.0, 2.0, 8.0, 1024.0, 0x1p59}) {
    auto f = [&](auto& b, auto x, auto) { return remainderByPower(b, x, y); };
    auto want = [&](auto x, auto) { return oracle::fmod(x, decltype(x)(y)); };
    this->specialPairs(f, want, 0);
    for (int i = 0; i < 4000; ++i) {
      this->check(f, want, this->anyBits(), TypeParam(0), 0);
      this->check(f, want, this->uniform(-20, 20) * y, TypeParam(0), 0);
    }
  }
}

}  // namespace
}  // namespace tercel::math
