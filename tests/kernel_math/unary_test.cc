// The functions of one operand against libm in a wider type: f32 on every 1009th bit pattern and
// around every exponent (on all of them in the disabled test), f64 on random and edge inputs.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <numbers>
#include <ostream>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "compiler/kernel/math/math.h"
#include "tests/kernel_math/oracle.h"
#include "tests/kernel_math/scalar_builder.h"

namespace tercel::math {
namespace {

template <class T, class W>
struct Forms {
  T (*plain)(T);
  T (*hooked)(T);
  T (*lone)(T);
  W (*want)(W);
  double limit;  // ULP
  oracle::TermSize<W> term_size;
};

struct Unary {
  const char* name;
  Forms<float, double> f32;
  Forms<double, long double> f64;
};

void PrintTo(const Unary& unary, std::ostream* out) { *out << unary.name; }

template <template <class> class Builder, class T, class F>
T apply(F f, T x) {
  Builder<T> b;
  return f(b, x);
}

#define FORM(T, Builder, name) \
  [](T x) { return apply<Builder>([](auto& b, T v) { return name(b, v); }, x); }
#define FORMS(T, W, name, libm, limit)                                              \
  {                                                                                 \
    FORM(T, ScalarBuilder, name), FORM(T, HookedScalarBuilder, name),               \
        FORM(T, LoneScalarBuilder, name), [](W x) { return oracle::libm(x); }, limit, \
        oracle::termSizeOf<W>(#name)                                                \
  }
const Unary kUnary[] = {
#define UNARY(name, libm, limit32, limit64)          \
  {#name, FORMS(float, double, name, libm, limit32), \
   FORMS(double, long double, name, libm, limit64)},
#include "tests/kernel_math/functions.def"
};
#undef FORMS
#undef FORM

template <class T, class W>
struct Judge {
  const Forms<T, W>& forms;
  double worst = 0;
  T at = 0;

  void operator()(T x) {
    const W want = forms.want(x), terms = forms.term_size(x);
    for (T got : {forms.plain(x), forms.hooked(x), forms.lone(x)}) {
      double error = oracle::ulpError(got, want, terms);
      if (error > worst) worst = error, at = x;
    }
  }
  std::string report() const {
    return std::to_string(worst) + " ULP at " + std::to_string(at) + ": " +
           std::to_string(forms.plain(at)) + " or " + std::to_string(forms.hooked(at)) + " or " +
           std::to_string(forms.lone(at)) + ", want " + std::to_string(forms.want(at));
  }
};

// Both signs, every exponent (also of subnormals, infinity and NaN), the ends of the mantissa.
template <class T, class U, class F>
void forEachEdge(F&& f) {
  constexpr int mantissa = std::numeric_limits<T>::digits - 1;
  constexpr U last = (U{1} << mantissa) - 1;
  for (U exponent = 0; exponent < (U{1} << (sizeof(T) * 8 - 1 - mantissa)); ++exponent) {
    for (U low : {U{0}, U{1}, U{2}, last / 3, last / 2, last / 2 + 1, last - 1, last}) {
      T x = std::bit_cast<T>(static_cast<U>(exponent << mantissa | low));
      f(x);
      f(-x);
    }
  }
}

// Where reductions cancel and results turn: multiples of pi/2 and of ln(2)/2, their neighbours, and
// numbers beside 1.
template <class F>
void forEachHard(F&& f) {
  constexpr long double kUnits[] = {std::numbers::pi_v<long double> / 2,
                                    std::numbers::ln2_v<long double> / 2};
  auto around = [&](double x) {
    for (double v : {std::nextafter(x, 0.0), x, std::nextafter(x, INFINITY)}) {
      f(v);
      f(-v);
    }
  };
  for (long double unit : kUnits)
    for (int64_t k = 1; k < (int64_t{1} << 40); k += 1 + k / 500)
      around(static_cast<double>(static_cast<long double>(k) * unit));
  for (int k = 1; k < 53; ++k)
    for (double side : {1.0, -1.0}) around(1 + std::ldexp(side, -k));
}

class UnaryTest : public testing::TestWithParam<Unary> {};

TEST_P(UnaryTest, F32) {
  Judge<float, double> judge{GetParam().f32};
  for (uint64_t bits = 0; bits < (uint64_t{1} << 32); bits += 1009) {
    judge(std::bit_cast<float>(static_cast<uint32_t>(bits)));
  }
  forEachEdge<float, uint32_t>(judge);
  for (int i = -4000; i <= 4000; ++i) judge(static_cast<float>(i) / 16);
  EXPECT_LE(judge.worst, GetParam().f32.limit) << judge.report();
}

TEST_P(UnaryTest, DISABLED_EveryF32) {
  Judge<float, double> judge{GetParam().f32};
  for (uint64_t bits = 0; bits < (uint64_t{1} << 32); ++bits) {
    judge(std::bit_cast<float>(static_cast<uint32_t>(bits)));
  }
  EXPECT_LE(judge.worst, GetParam().f32.limit) << judge.report();
}

TEST_P(UnaryTest, F64) {
  Judge<double, long double> judge{GetParam().f64};
  std::mt19937_64 random(7);
  std::uniform_real_distribution<double> unit(-1, 1);
  for (int i = 0; i < 40000; ++i) {
    judge(std::bit_cast<double>(random()));
    for (double scale : {1.0, 2.0, 30.0, 800.0}) judge(unit(random) * scale);
    judge(1 + unit(random) * 1e-3);
  }
  forEachEdge<double, uint64_t>(judge);
  forEachHard(judge);
  for (int i = -4000; i <= 4000; ++i) judge(i / 16.0);
  EXPECT_LE(judge.worst, GetParam().f64.limit) << judge.report();
}

// A function of ops.def that is new has a row in functions.def, unless machines have it exactly.
TEST(UnaryFunctions, AllAreScanned) {
  const std::set<std::string> exact = {
      "abs",  "bitcast_convert", "ceil", "convert", "count_leading_zeros", "floor", "imag",
      "real", "is_finite", "negate", "not", "popcnt", "sign", "reduce_precision",
      "round_nearest_afz", "round_nearest_even"};
  std::set<std::string> scanned;
  for (const Unary& unary : kUnary) scanned.insert(unary.name);
  for (const auto& [name, kind] : {
#define OP(name, operands, regions, cls) std::pair<std::string, std::string>{#name, #cls},
#include "compiler/ir/ops.def"
       })
    if (kind == "unary" && !exact.contains(name)) {
      EXPECT_TRUE(scanned.contains(name)) << name;
    }
}

INSTANTIATE_TEST_SUITE_P(All, UnaryTest, testing::ValuesIn(kUnary),
                         [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace tercel::math
