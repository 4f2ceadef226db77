// The functions over kernel values, compiled by LLVM for this machine and lesser ones, give the bits
// that the scalar builder gives: neither lowering nor code generator contracts, folds or
// reassociates.
#include <gtest/gtest.h>

#include <bit>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "compiler/kernel/elem_divide.h"
#include "compiler/kernel/math/math.h"
#include "compiler/kernel/math_builder.h"
#include "tests/codegen/machine_code.h"
#include "tests/kernel_math/scalar_builder.h"

namespace tercel::math {
namespace {

using kernel::Scalar;

template <class T>
std::vector<T> inputs(uint64_t seed) {
  using U = std::conditional_t<sizeof(T) == 8, uint64_t, uint32_t>;
  std::mt19937_64 random(seed);
  std::uniform_real_distribution<double> unit(-1, 1);
  std::vector<T> values;
  while (values.size() < 8192) {
    values.push_back(std::bit_cast<T>(static_cast<U>(random())));
    for (double scale : {1.0, 10.0, 100.0}) values.push_back(static_cast<T>(unit(random) * scale));
  }
  const T special[] = {0,
                       1,
                       std::numeric_limits<T>::infinity(),
                       std::numeric_limits<T>::max(),
                       std::numeric_limits<T>::denorm_min(),
                       std::numeric_limits<T>::quiet_NaN()};
  for (T x : special) values.push_back(x), values.push_back(-x);
  values.resize(8192 + 64);
  return values;
}

template <class T>
bool same(T x, T y) {
  return std::isnan(x) ? std::isnan(y) : x == y && std::signbit(x) == std::signbit(y);
}

// out[i] = f(x[i], y[i]), where f takes a math builder.
template <class T, class F>
codegen::MachineCode generate(const char* name, F f, const codegen::Target& target) {
  constexpr int bits = 8 * sizeof(T);
  const Scalar scalar = bits == 64 ? Scalar::f64 : Scalar::f32;
  const int lanes = target.vector_bytes * 8 / bits;
  kernel::Kernel kernel{.name = name};
  kernel::Builder b(kernel);
  b.machine.has_scalb = target.has_avx512;
  b.machine.slow_subnormals = target.slow_subnormals;
  auto x = b.addParam(scalar, true), y = b.addParam(scalar, true), out = b.addParam(scalar, false);
  b.forLoop(b.taskBegin(), b.taskEnd(), lanes, [&](kernel::V i) {
    kernel::MathBuilder<bits> math{b, static_cast<uint16_t>(lanes)};
    b.store(out, i, f(math, b.load(x, i, lanes), b.load(y, i, lanes)));
  });
  return codegen::compile(kernel, target);
}

template <class T, class F>
void check(const char* name, F f) {
  std::vector<T> x = inputs<T>(1), y = inputs<T>(2), out(x.size()), wanted;
  ScalarBuilder<T> scalar;
  for (size_t i = 0; i < x.size(); ++i) wanted.push_back(f(scalar, x[i], y[i]));
  std::vector<codegen::Target> targets = codegen::testTargets();
  codegen::Target other = targets.front();
  other.slow_subnormals = !other.slow_subnormals;
  targets.push_back(other);
  for (const codegen::Target& target : targets) {
    codegen::MachineCode code = generate<T>(name, f, target);
    ASSERT_NE(code.entry, nullptr);
    if (!codegen::runsHere(target)) continue;
    code({x.data(), y.data(), out.data()}, 0, static_cast<int64_t>(x.size()));
    for (size_t i = 0; i < x.size(); ++i)
      ASSERT_TRUE(same(out[i], wanted[i])) << target.cpu << ": " << name << "(" << x[i] << ", "
                                           << y[i] << ") " << out[i] << ", want " << wanted[i];
  }
}

// out[i] = x[i] / y[0]: a loop that knows what it divides by.
template <class T>
codegen::MachineCode generateQuotients(const codegen::Target& target) {
  const Scalar scalar = sizeof(T) == 8 ? Scalar::f64 : Scalar::f32;
  const int lanes = target.vector_bytes / sizeof(T);
  kernel::Kernel kernel{.name = "quotients"};
  kernel::Builder b(kernel);
  b.machine.slow_division = target.slow_division;
  b.machine.slow_subnormals = target.slow_subnormals;
  auto x = b.addParam(scalar, true), y = b.addParam(scalar, true), out = b.addParam(scalar, false);
  kernel::V divisor = b.load(y, b.index(0), 1);
  b.forLoop(b.taskBegin(), b.taskEnd(), 1, [&](kernel::V) {
    kernel::V count = b.index(static_cast<int64_t>(inputs<T>(1).size()));
    b.forLoop(b.index(0), count, lanes, [&](kernel::V i) {
      kernel::V by = b.widen(divisor, static_cast<uint16_t>(lanes));
      b.store(out, i, kernel::divideFloats(b, b.load(x, i, lanes), by));
    });
  });
  return codegen::compile(kernel, target);
}

template <class T>
void checkQuotients() {
  std::vector<T> x = inputs<T>(1), divisors = inputs<T>(3), out(x.size());
  for (bool is_slow : {false, true}) {
    codegen::Target target = codegen::Target::host();
    target.slow_division = is_slow;
    codegen::MachineCode code = generateQuotients<T>(target);
    ASSERT_NE(code.entry, nullptr);
    for (size_t d = 0; d < divisors.size(); d += 61) {
      T by = divisors[d];
      code({x.data(), &by, out.data()}, 0, 1);
      for (size_t i = 0; i < x.size(); ++i)
        ASSERT_TRUE(same(out[i], x[i] / by)) << x[i] << " / " << by << " = " << out[i];
    }
  }
}

TEST(GeneratedMath, QuotientsByOneNumber) {
  checkQuotients<float>();
  checkQuotients<double>();
}

#define UNARY(name, libm, limit32, limit64)                    \
  TEST(GeneratedMath, name) {                                  \
    auto f = [](auto& b, auto x, auto) { return name(b, x); }; \
    check<float>(#name, f);                                    \
    check<double>(#name, f);                                   \
  }
#include "tests/kernel_math/functions.def"

#define BINARY(name)                                                \
  TEST(GeneratedMath, name) {                                       \
    auto f = [](auto& b, auto x, auto y) { return name(b, x, y); }; \
    check<float>(#name, f);                                         \
    check<double>(#name, f);                                        \
  }
BINARY(atan2)
BINARY(power)
BINARY(remainder)
#undef BINARY

}  // namespace
}  // namespace tercel::math
