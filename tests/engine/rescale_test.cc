// Operands of products that hold subnormal numbers.
#include "runtime/kernels/rescale.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "program/product_slots.h"
#include "runtime/engine/subnormal_history.h"
#include "runtime/engine/thread_pool.h"

namespace tercel::engine {
namespace {

bool rescale(const std::vector<float>& a, const std::vector<float>& b, kernels::Rescaled& copies,
             const kernels::Parallel& parallel = {}, bool sums = false) {
  return kernels::rescale(a.data(), static_cast<int64_t>(a.size()), b.data(),
                          static_cast<int64_t>(b.size()), sums, copies, parallel);
}

bool canRescale(const std::vector<float>& a, const std::vector<float>& b) {
  kernels::Rescaled copies;
  const bool one_way = rescale(a, b, copies);
  EXPECT_EQ(rescale(b, a, copies), one_way);
  return one_way;
}

TEST(Rescale, ProductsStayTheSame) {
  ThreadPool pool(3);
  for (size_t count : {1, 7, 1000, 300001}) {
    std::vector<float> a(count), b(count / 3 + 1);
    for (size_t i = 0; i < a.size(); ++i)
      a[i] = i % 5 == 3 ? -0.0f : std::ldexp(1.0f + static_cast<float>(i % 97), static_cast<int>(i % 150) - 149);
    for (size_t i = 0; i < b.size(); ++i) b[i] = std::ldexp(1.5f, static_cast<int>(i % 200) - 100);
    kernels::Rescaled copies;
    ASSERT_TRUE(rescale(a, b, copies, pool.parallel())) << count;
    for (size_t i = 0; i < count; ++i) {
      const double copied = copies.a.get()[i];
      ASSERT_EQ(copied, std::ldexp(double{a[i]}, 24)) << i;
      ASSERT_EQ(std::signbit(copied), std::signbit(a[i])) << i;
      ASSERT_FALSE(std::fpclassify(copies.a.get()[i]) == FP_SUBNORMAL) << i;
      const size_t j = i % b.size();
      ASSERT_EQ(copied * copies.b.get()[j], double{a[i]} * b[j]) << i;
    }
  }
}

TEST(Rescale, OnlyWhereItHelpsAndLosesNothing) {
  constexpr float kTiny = 1e-40f, kInf = std::numeric_limits<float>::infinity();
  EXPECT_TRUE(canRescale({kTiny, 1, 0}, {1, 2, 0}));
  EXPECT_TRUE(canRescale({kTiny, 0x1p102f}, {0x1p-102f, -kInf, NAN}));
  EXPECT_FALSE(canRescale({1, 1e-37f}, {1, 2}));
  EXPECT_FALSE(canRescale({kTiny, 1}, {1, kTiny}));
  EXPECT_FALSE(canRescale({kTiny, -0x1p103f}, {1, 2}));
  EXPECT_FALSE(canRescale({kTiny, 1}, {1, 0x1p-103f}));
  EXPECT_FALSE(canRescale({kTiny, kInf}, {1, 2}));
  EXPECT_FALSE(canRescale({kTiny, NAN}, {1, 2}));
  std::vector<float> many(1000, 1.0f);
  many[3] = kTiny;
  EXPECT_FALSE(canRescale(many, {1, 2}));
}

TEST(Rescale, BothWhereSumsAllowIt) {
  constexpr float kTiny = 1e-40f, kInf = std::numeric_limits<float>::infinity();
  auto canBoth = [](const std::vector<float>& a, const std::vector<float>& b) {
    kernels::Rescaled copies;
    if (!rescale(a, b, copies, {}, true) || copies.sums == 1) return false;
    for (size_t i = 0; i < a.size(); ++i)
      EXPECT_EQ(double{copies.a.get()[i]} * copies.b.get()[i] * copies.sums, double{a[i]} * b[i]);
    return true;
  };
  EXPECT_TRUE(canBoth({kTiny, 1}, {1, kTiny}));
  EXPECT_TRUE(canBoth({1e-20f, -3e-20f}, {1e-20f, 2e-20f}));
  EXPECT_TRUE(canBoth({kTiny, 1}, {1, 2}));
  EXPECT_TRUE(canBoth({kTiny, 1e-45f}, {1e-45f, 1e-3f}));
  EXPECT_FALSE(canBoth({1e-3f, 1}, {1, 2}));
  EXPECT_FALSE(canBoth({kTiny, 0x1p40f}, {0x1p40f, kTiny}));
  EXPECT_FALSE(canBoth({kTiny, kInf}, {1, kTiny}));
  EXPECT_FALSE(canBoth({kTiny, 1}, {NAN, kTiny}));
  std::vector<float> sums{0x1p40f, -0x1.8p-100f, 3, kInf};
  kernels::scaleSums(sums.data(), 4, 0x1p-48, {});
  EXPECT_EQ(sums, (std::vector<float>{0x1p-8f, -0x1.8p-148f, 3 * 0x1p-48f, kInf}));
}

TEST(Rescale, LooksAgainEverMoreSeldom) {
  SubnormalHistory history;
  int looks = 0;
  for (int call = 0; call < 1000; ++call) {
    if (history.expectsSome()) history.noteLooked(false), ++looks;
    history.noteMet();
  }
  EXPECT_GT(looks, 5);
  EXPECT_LT(looks, 25);
}

TEST(Rescale, LooksWhileItHelps) {
  SubnormalHistory history;
  EXPECT_FALSE(history.expectsSome());
  history.noteMet();
  for (int call = 0; call < 10; ++call) {
    EXPECT_TRUE(history.expectsSome());
    history.noteLooked(true);
  }
}

TEST(Rescale, WatchesThisThread) {
#if defined(__x86_64__)
  volatile float tiny = 1e-40f, two = 2;
  SubnormalWatch watch;
  EXPECT_FALSE(watch.metAny());
  two = two * 3;
  EXPECT_FALSE(watch.metAny());
  two = two * tiny;
  EXPECT_TRUE(watch.metAny());
  EXPECT_FALSE(SubnormalWatch().metAny());
#endif
}

TEST(ProductSlots, Text) {
  program::Step step{.slots = {4, 5, 6}, .values = {2}};
  using Slots = program::ProductSlots;
  for (const Slots& slots : {Slots{{1, 0}, {}}, Slots{{1, 0}, 2}}) {
    step.text = program::textOf(slots);
    auto read = program::productSlots(step);
    ASSERT_TRUE(read.ok() && read->has_value());
    EXPECT_EQ(**read, slots);
  }
  step.text.clear();
  auto read = program::productSlots(step);
  EXPECT_TRUE(read.ok() && !read->has_value());
  for (const char* wrong : {"product", "product 0", "product 0 0", "product 0 2", "product 0 3",
                            "product 0 1 ", "product 0 1 1", "product -1 0", "product 0  1",
                            "sum 0 1", "product 99999999999 1"}) {
    step.text = wrong;
    EXPECT_FALSE(program::productSlots(step).ok()) << wrong;
  }
}

}  // namespace
}  // namespace tercel::engine
