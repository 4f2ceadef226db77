#include "compiler/eval/difference.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

namespace tercel::eval {
namespace {

ir::Literal floats(std::vector<float> values) {
  std::vector<std::byte> bytes(values.size() * sizeof(float));
  std::memcpy(bytes.data(), values.data(), bytes.size());
  return ir::Literal(Shape{DType::f32, {static_cast<int64_t>(values.size())}}, std::move(bytes));
}

ir::Literal number(int32_t value) { return ir::Literal::scalar<int32_t>(value); }

TEST(Difference, RoundingAgrees) {
  EXPECT_EQ(difference(floats({1, 2.00001f}), floats({1, 2})), "");
  // What cancelled to about zero is judged by the largest.
  EXPECT_EQ(difference(floats({1e-6f, 100}), floats({0, 100})), "");
}

TEST(Difference, MoreThanRoundingDoesNot) {
  EXPECT_NE(difference(floats({1, 2.01f}), floats({1, 2})), "");
  EXPECT_NE(difference(floats({1e-6f}), floats({0})), "");
}

TEST(Difference, NaNAndInfinityAgreeWithThemselvesOnly) {
  EXPECT_EQ(difference(floats({NAN, INFINITY}), floats({NAN, INFINITY})), "");
  EXPECT_NE(difference(floats({NAN}), floats({1})), "");
  EXPECT_NE(difference(floats({1}), floats({NAN})), "");
  EXPECT_NE(difference(floats({INFINITY}), floats({-INFINITY})), "");
  EXPECT_NE(difference(floats({3e38f}), floats({INFINITY})), "");
}

TEST(Difference, IntegersMustBeEqual) {
  EXPECT_EQ(difference(number(7), number(7)), "");
  EXPECT_EQ(difference(number(7), number(8)), "element 0 is 7, wanted 8");
}

TEST(Difference, ShapesMustBeEqual) { EXPECT_NE(difference(floats({1}), floats({1, 1})), ""); }

}  // namespace
}  // namespace tercel::eval
