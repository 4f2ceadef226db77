// Complex functions against libm's in a wider type: on ordinary values by the distance relative to
// the result's size, on all pairs of special values by what kind of number each part is.
#include <gtest/gtest.h>

#include <cmath>
#include <complex>
#include <limits>
#include <random>
#include <string>
#include <type_traits>
#include <vector>

#include "compiler/kernel/math/complex_functions.h"
#include "tests/kernel_math/scalar_builder.h"

namespace tercel::math {
namespace {

template <class T>
using WiderThan = std::conditional_t<std::is_same_v<T, float>, double, long double>;

template <class T>
class ComplexTest : public testing::Test {
 public:
  using W = WiderThan<T>;
  using Z = std::complex<T>;
  using WideZ = std::complex<W>;
  using Limits = std::numeric_limits<T>;

  template <template <class> class Builder, class F, class... A>
  static Z call(F f, A... z) {
    Builder<T> b;
    auto r = f(b, ComplexValue<Builder<T>>{z.real(), z.imag()}...);
    if constexpr (std::is_same_v<decltype(r), T>) {
      return {r, 0};
    } else {
      return {r.re, r.im};
    }
  }

  void allowAbsolute(W error) { absolute_ = error; }

  // Within `ulps` of 2^-digits relative to |want|, and also part by part where `parts` says so.
  template <class F, class G, class... A>
  void close(F f, G want_of, double ulps, bool parts, A... z) {
    const WideZ want = want_of(WideZ(z.real(), z.imag())...);
    const W eps = Limits::epsilon() / 2, tiny = Limits::denorm_min();
    for (Z got : {call<ScalarBuilder>(f, z...), call<HookedScalarBuilder>(f, z...)}) {
      const WideZ wide(got.real(), got.imag());
      bool good = std::abs(wide - want) <= ulps * (eps * std::abs(want) + tiny) + absolute_;
      if (parts) {
        good = good && near(wide.real(), want.real(), ulps) && near(wide.imag(), want.imag(), ulps);
      }
      if (std::abs(want) > Limits::max() || std::isnan(std::abs(want))) continue;
      if (!good && ++failures_ < 12) {
        ADD_FAILURE() << text(z...) << ": " << got << ", want " << want;
      }
    }
  }

  // Both parts NaN, infinite, zero or close as libm's; signs where `signs` and none is NaN.
  template <class F, class G, class... A>
  void sameKind(bool signs, F f, G want_of, A... z) {
    const std::complex<T> want = want_of(z...);
    signs = signs && !std::isnan(want.real()) && !std::isnan(want.imag());
    for (Z got : {call<ScalarBuilder>(f, z...), call<HookedScalarBuilder>(f, z...)}) {
      if (sameKind(signs, got.real(), want.real()) && sameKind(signs, got.imag(), want.imag())) {
        continue;
      }
      if (++failures_ < 30) ADD_FAILURE() << text(z...) << ": " << got << ", want " << want;
    }
  }

  // Zeros, infinities, NaN, tiny, ordinary and huge values of both signs.
  static std::vector<Z> special() {
    std::vector<T> parts;
    for (T x : {T(0), T(0.5), T(3), Limits::infinity()}) {
      parts.push_back(x);
      parts.push_back(-x);
    }
    parts.push_back(Limits::quiet_NaN());
    std::vector<Z> all;
    for (T re : parts) {
      for (T im : parts) all.emplace_back(re, im);
    }
    return all;
  }

  Z uniform(double size) {
    std::uniform_real_distribution<double> part(-size, size);
    T re = part(random_), im = part(random_);
    return {re, im};
  }
  // Parts of independent magnitudes over nearly the whole range.
  Z anySize() {
    const int limit = Limits::max_exponent - 4;
    std::uniform_int_distribution<int> exponent(-limit, limit);
    Z z = uniform(1);
    return {std::ldexp(z.real(), exponent(random_)), std::ldexp(z.imag(), exponent(random_))};
  }

 private:
  template <class... A>
  static std::string text(A... z) {
    testing::Message message;
    (message << ... << z);
    return message.GetString();
  }
  static bool near(W got, W want, double ulps) {
    int exponent;
    std::frexp(want, &exponent);
    exponent = std::max(exponent, Limits::min_exponent);
    return std::fabs(got - want) <= ulps * std::ldexp(W{1}, exponent - Limits::digits);
  }
  static bool sameKind(bool signs, T got, T want) {
    if (std::isnan(want)) return std::isnan(got);
    if (std::isinf(want) || want == 0) {
      return std::fabs(got) == std::fabs(want) &&
             (!signs || std::signbit(got) == std::signbit(want));
    }
    return std::fabs(got - want) <= 16 * Limits::epsilon() * std::fabs(want);
  }

  std::mt19937_64 random_{5};
  W absolute_ = 0;
  int failures_ = 0;
};

using Formats = testing::Types<float, double>;
TYPED_TEST_SUITE(ComplexTest, Formats);

#define F(name) [](auto& b, auto... z) { return name(b, z...); }
#define WANT(expression) [](auto z) -> decltype(z) { return expression; }

TYPED_TEST(ComplexTest, OrdinaryValues) {
  for (int i = 0; i < 8000; ++i) {
    for (double size : {0.01, 1.0, 4.0, 60.0}) {
      auto z = this->uniform(size);
      this->close(F(exponential), WANT(std::exp(z)), 4, true, z);
      this->close(F(sine), WANT(std::sin(z)), 5, true, z);
      this->close(F(cosine), WANT(std::cos(z)), 5, true, z);
      this->close(F(sinh), WANT(std::sinh(z)), 5, true, z);
      this->close(F(cosh), WANT(std::cosh(z)), 5, true, z);
      this->close(F(atanh), WANT(std::atanh(z)), 6, true, z);
      this->close(F(tanh), WANT(std::tanh(z)), 10, false, z);
      this->close(F(tan), WANT(std::tan(z)), 10, false, z);
      this->close(F(exponential_minus_one), WANT(std::exp(z) - decltype(z)(1)), 4, false,
                  z - decltype(z)(1));
      this->close(F(log), WANT(std::log(z)), 4, false, z);
      this->close(F(sqrt), WANT(std::sqrt(z)), 5, true, z);
      this->close(F(rsqrt), WANT(decltype(z)(1) / std::sqrt(z)), 8, false, z);
      this->close(F(log_plus_one), WANT(std::log(decltype(z)(1) + z)), 6, false,
                  z + decltype(z)(1));
      this->close(F(sign), WANT(z / std::abs(z)), 4, true, z);
    }
  }
}

TYPED_TEST(ComplexTest, CancellationIsAvoided) {
  using Z = std::complex<TypeParam>;
  using W = WiderThan<TypeParam>;
  auto expm1_series = WANT(z * (W(1) + z * (W(1) / 2 + z * (W(1) / 6 + z / W(24)))));
  auto log1p_series = WANT(z * (W(1) - z * (W(1) / 2 - z * (W(1) / 3 - z / W(4)))));
  for (int i = 0; i < 8000; ++i) {
    // |z| near 1: the logarithm's real part alone; |z|^2 - 1 itself has this much error.
    this->allowAbsolute(std::pow(std::numeric_limits<TypeParam>::epsilon(), 2));
    Z u = this->uniform(1);
    Z z = u / std::abs(u);
    auto real_log = [](std::complex<W> v) {
      long double x = v.real(), y = v.imag();
      return std::complex<W>(W(std::log1p((x - 1) * (x + 1) + y * y) / 2), 0);
    };
    auto real_of = [](auto f) {
      return [f](auto& b, auto v) {
        auto r = f(b, v);
        return decltype(v){r.re, b.constant(0)};
      };
    };
    if constexpr (std::is_same_v<TypeParam, float>) {
      this->close(real_of(F(log)), real_log, 4, false, z);
    }
    this->allowAbsolute(0);
    const Z beside(i % 2 ? 1 : -1, std::ldexp(u.imag(), -(i % 140)));
    this->close(F(atanh), WANT(std::atanh(z)), 6, true, beside);
    // Near 0: expm1 and log1p are nearly the identity.
    Z tiny = this->uniform(1e-5);
    this->close(F(exponential_minus_one), expm1_series, 4, false, tiny);
    this->close(F(log_plus_one), log1p_series, 4, false, tiny);
  }
}

TYPED_TEST(ComplexTest, AnyMagnitude) {
  for (int i = 0; i < 40000; ++i) {
    auto z = this->anySize(), w = this->anySize();
    this->close(
        F(divide), [](auto x, auto y) { return x / y; }, 6, false, z, w);
    this->close(F(abs), WANT(std::abs(z)), 2, true, z);
    this->close(F(sqrt), WANT(std::sqrt(z)), 5, true, z);
    this->close(F(log), WANT(std::log(z)), 4, false, z);
    this->close(F(atanh), WANT(std::atanh(z)), 6, true, z);
  }
}

TYPED_TEST(ComplexTest, ExponentialBeyondTheRangeOfItsSize) {
  const double over = std::log(std::numeric_limits<TypeParam>::max());
  for (int i = 0; i < 100; ++i) {
    // e^(over + 1) is infinite, its product with a small cosine is not.
    std::complex<TypeParam> z(over + 1, 1.5707 + i * 1e-6);
    auto real_part = [](auto& b, auto v) {
      auto r = exponential(b, v);
      return decltype(v){r.re, b.constant(0)};
    };
    this->close(real_part, WANT(decltype(z)(std::exp(z).real(), 0)), 4, true, z);
  }
}

TYPED_TEST(ComplexTest, TinyPartsTimesFarTooLargeExponentials) {
  using Z = std::complex<TypeParam>;
  using W = WiderThan<TypeParam>;
  using Limits = std::numeric_limits<TypeParam>;
  const double over = std::log(Limits::max());
  for (int i = 0; i < 1000; ++i) {
    const auto tiny = std::ldexp(TypeParam(1.3), Limits::min_exponent + 2 + i % 9);
    const auto large = static_cast<TypeParam>(over * (1.8 + i * 0.0003));
    const W part = std::exp(W(large)) * W(tiny), half = part / 2;
    const Z all(Limits::infinity(), TypeParam(part)), halves(Limits::infinity(), TypeParam(half));
    this->sameKind(true, F(exponential), [&](auto) { return all; }, Z(large, tiny));
    this->sameKind(true, F(exponential_minus_one), [&](auto) { return all; }, Z(large, tiny));
    this->sameKind(true, F(cosine), [&](auto) { return std::conj(halves); }, Z(tiny, large));
    this->sameKind(true, F(sine), [&](auto) { return Z(TypeParam(half), Limits::infinity()); },
                   Z(tiny, large));
  }
}

TYPED_TEST(ComplexTest, Power) {
  using Z = std::complex<TypeParam>;
  for (int i = 0; i < 8000; ++i) {
    this->close(
        F(power), [](auto z, auto w) { return std::pow(z, w); }, 60, false, this->uniform(3),
        this->uniform(3));
  }
  auto power_of = [&](Z z, Z w) { return this->template call<ScalarBuilder>(F(power), z, w); };
  EXPECT_EQ(power_of(Z(0, 0), Z(0, 0)), Z(1, 0));
  EXPECT_EQ(power_of(Z(0, 0), Z(2, 0)), Z(0, 0));
  EXPECT_EQ(power_of(Z(0.3, -2), Z(0, 0)), Z(1, 0));
  EXPECT_EQ(power_of(Z(1, 0), Z(INFINITY, NAN)), Z(1, 0));
  EXPECT_EQ(power_of(Z(INFINITY, 0), Z(2, 0)), Z(INFINITY, 0));
  EXPECT_EQ(power_of(Z(INFINITY, 0), Z(-2, 0)), Z(0, 0));
  EXPECT_TRUE(std::isnan(power_of(Z(0, 0), Z(2, 1)).real()));
}

TYPED_TEST(ComplexTest, MultiplyIsThePlainFormula) {
  using Z = std::complex<TypeParam>;
  for (int i = 0; i < 1000; ++i) {
    Z z = this->uniform(3);
    Z square = this->template call<ScalarBuilder>(F(multiply), z, std::conj(z));
    EXPECT_EQ(square.imag(), 0);
    EXPECT_EQ(square.real(), z.real() * z.real() + z.imag() * z.imag());
  }
}

TYPED_TEST(ComplexTest, SpecialValues) {
  for (auto z : this->special()) {
    // C99 leaves signs open where both parts are infinite.
    const bool signs = !std::isinf(z.real()) || !std::isinf(z.imag());
    const bool imag_wild = !std::isfinite(z.imag()), real_wild = !std::isfinite(z.real());
    // What C99 gets back from a NaN is not XLA's.
    auto unless = [](bool lost, auto want) {
      return [=](auto v) { return lost ? decltype(v)(NAN, NAN) : want(v); };
    };
    this->sameKind(signs, F(exponential), unless(imag_wild, WANT(std::exp(z))), z);
    if (imag_wild) this->sameKind(false, F(exponential_minus_one), unless(true, WANT(z)), z);
    this->sameKind(true, F(log), WANT(std::log(z)), z);
    this->sameKind(true, F(sqrt), WANT(std::sqrt(z)), z);
    this->sameKind(signs, F(sine), WANT(std::sin(z)), z);
    this->sameKind(signs, F(cosine), WANT(std::cos(z)), z);
    this->sameKind(signs, F(sinh), unless(!signs, WANT(std::sinh(z))), z);
    this->sameKind(signs, F(cosh), unless(!signs, WANT(std::cosh(z))), z);
    this->sameKind(signs, F(atanh), WANT(std::atanh(z)), z);
    this->sameKind(signs, F(tanh), unless(imag_wild && z.real() == 0, WANT(std::tanh(z))), z);
    this->sameKind(signs, F(tan), unless(real_wild && z.imag() == 0, WANT(std::tan(z))), z);
    this->sameKind(true, F(abs), WANT(std::abs(z)), z);
  }
}

TYPED_TEST(ComplexTest, DivideSpecialValues) {
  for (auto z : this->special()) {
    for (auto w : this->special()) {
      this->sameKind(
          false, F(divide), [](auto x, auto y) { return x / y; }, z, w);
    }
  }
}

}  // namespace
}  // namespace tercel::math
