// Arithmetic with subnormal numbers is gone around only where it is slow.
#include <gtest/gtest.h>

#include "compile/native.h"

namespace tercel::compiler {
namespace {

constexpr kernel::Machine kSlow{.slow_subnormals = true}, kFast{.slow_subnormals = false};

constexpr std::string_view kQuotient =
    "func @main(%x: f32[640], %y: f32[640]) -> (f32[640]) {\n"
    "  %r = divide(%x, %y) : f32[640]\n  return %r\n}\n";

constexpr std::string_view kSumOfProducts =
    "func @main(%x: f32[64,640], %y: f32[64,640]) -> (f32[64]) {\n"
    "  %p = multiply(%x, %y) : f32[64,640]\n  %z = constant() {value = f32[] (0)} : f32[]\n"
    "  %r = reduce(%p, %z) {dimensions = [1]} body(%a: f32[], %b: f32[]) {\n"
    "    %s = add(%a, %b) : f32[]\n    return %s\n  } : f32[64]\n  return %r\n}\n";

constexpr std::string_view kVectorProduct =
    "func @main(%x: f32[96,640], %y: f32[640]) -> (f32[96]) {\n"
    "  %r = dot_general(%x, %y) {lhs_batching_dimensions = [], rhs_batching_dimensions = [], "
    "lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0]} : f32[96]\n"
    "  return %r\n}\n";

TEST(Subnormals, QuotientsAreLookedAt) {
  EXPECT_GT(countInKernel(moduleOf(kQuotient), "rarely", kSlow), 0);
  EXPECT_EQ(countInKernel(moduleOf(kQuotient), "rarely", kFast), 0);
  expectNative(kQuotient);
}

std::string decay(int64_t elements) {
  const std::string shape = "f32[" + std::to_string(elements) + "]";
  return "func @main(%x: " + shape + ", %y: " + shape + ") -> (" + shape + ") {\n" +
         "  %c = constant() {value = " + shape + " splat (0.9)} : " + shape + "\n" +
         "  %p = multiply(%x, %c) : " + shape + "\n  %r = add(%p, %y) : " + shape +
         "\n  return %r\n}\n";
}

TEST(Subnormals, LargeDecaysAreLookedAt) {
  EXPECT_GT(countInKernel(moduleOf(decay(1 << 17)), "rarely", kSlow), 0);
  EXPECT_EQ(countInKernel(moduleOf(decay(1 << 17)), "rarely", kFast), 0);
  EXPECT_EQ(countInKernel(moduleOf(decay(1 << 12)), "rarely", kSlow), 0);
  expectNative(decay(1 << 17));
}

TEST(Subnormals, SumsAskTheFlags) {
  for (std::string_view text : {kSumOfProducts, kVectorProduct}) {
    EXPECT_GT(countInKernel(moduleOf(text), "subnormals_met", kSlow), 0) << text;
    EXPECT_EQ(countInKernel(moduleOf(text), "subnormals_met", kFast), 0) << text;
    expectNative(text);
  }
}

}  // namespace
}  // namespace tercel::compiler
