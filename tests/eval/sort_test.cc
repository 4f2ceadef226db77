#include <gtest/gtest.h>

#include "program.h"

namespace tercel::eval {
namespace {

std::string sortBy(std::string_view compare, int dimension, std::string_view types) {
  return cat("sort(%0, %1) {dimension = ", dimension,
             ", is_stable = true} body(%a: f32[], %b: f32[], %c: s32[], %d: s32[]) {\n%e = ",
             compare, " : pred[]\nreturn %e\n} : ", types);
}

constexpr auto kLess = "compare(%a, %b) {comparison_direction = LT}";

TEST(Sort, IsStableAndCarriesTheOtherArrays) {
  expectOp(sortBy(kLess, 0, "f32[5], s32[5]"), {"f32[5] (3, 1, 2, 1, 3)", "s32[5] (0, 1, 2, 3, 4)"},
           {"f32[5] (1, 1, 2, 3, 3)", "s32[5] (1, 3, 2, 0, 4)"});
}

TEST(Sort, AlongAnyDimension) {
  expectOp(sortBy(kLess, 0, "f32[3,2], s32[3,2]"),
           {"f32[3,2] (3, 4, 1, 6, 2, 5)", "s32[3,2] (0, 1, 2, 3, 4, 5)"},
           {"f32[3,2] (1, 4, 2, 5, 3, 6)", "s32[3,2] (2, 1, 4, 5, 0, 3)"});
}

// A comparator that says yes to everything is no order: the elements must survive.
TEST(Sort, AnyComparatorGivesAPermutation) {
  auto always = "compare(%a, %a) {comparison_direction = EQ}";
  Result<Literals> result =
      evaluateText(sortBy(always, 0, "f32[7], s32[7]"),
                   {"f32[7] (3, 1, 2, 1, 3, 9, 8)", "s32[7] (0, 1, 2, 3, 4, 5, 6)"});
  ASSERT_TRUE(result.ok());
  int64_t seen = 0;
  for (int64_t i = 0; i < 7; ++i) seen |= int64_t{1} << (*result)[1].at<int32_t>(i);
  EXPECT_EQ(seen, 127);
}

TEST(Sort, OfNothing) {
  expectOp(sortBy(kLess, 1, "f32[2,0], s32[2,0]"), {"f32[2,0] ()", "s32[2,0] ()"},
           {"f32[2,0] ()", "s32[2,0] ()"});
}

// XLA:CPU's order: NaN above all, -NaN below all, +0 above -0, the lower index first.
TEST(TopK, IsInTotalOrder) {
  expectOp("composite(%0) {name = chlo.top_k, k = 8} : f32[8], s32[8]",
           {"f32[8] (0, -0, nan, nan:0xffc00000, 1, -0, 0, inf)"},
           {"f32[8] (nan, inf, 1, 0, 0, -0, -0, nan)", "s32[8] (2, 7, 4, 0, 6, 1, 5, 3)"});
}

}  // namespace
}  // namespace tercel::eval
