#include "core/layout.h"

#include <gtest/gtest.h>

namespace tercel {
namespace {

TEST(Layout, IsAPermutation) {
  const std::array<int64_t, 3> good = {0, 2, 1}, twice = {0, 2, 2}, outside = {0, 3, 1};
  EXPECT_TRUE(isLayout(good, 3));
  EXPECT_FALSE(isLayout(good, 2));
  EXPECT_FALSE(isLayout(good, 4));
  EXPECT_FALSE(isLayout(twice, 3));
  EXPECT_FALSE(isLayout(outside, 3));
  EXPECT_TRUE(isLayout({}, 0));
}

TEST(Layout, RowMajor) {
  EXPECT_TRUE(isRowMajor({}));
  EXPECT_TRUE(isRowMajor(rowMajorLayout(4)));
  EXPECT_FALSE(isRowMajor(Dims{0, 1}));
  EXPECT_EQ(rowMajorLayout(3), (Dims{2, 1, 0}));
}

// {0,2,1}: dim 0 is innermost, then 2, then 1.
TEST(Layout, OrdersThereAndBack) {
  const Dims layout = {0, 2, 1}, shown = {2, 3, 4};
  EXPECT_EQ(memoryOrder(shown, layout), (Dims{3, 4, 2}));
  EXPECT_EQ(shownOrder({3, 4, 2}, layout), shown);
  EXPECT_EQ(toMemory(layout), (std::vector<int64_t>{1, 2, 0}));
  EXPECT_EQ(fromMemory(layout), (std::vector<int64_t>{2, 0, 1}));
  EXPECT_EQ(memoryOrder(shown, {}), shown);
  EXPECT_EQ(shownOrder(shown, {}), shown);
}

TEST(Layout, LengthOneMayStandAnywhere) {
  const Dims dims = {2, 1, 3};
  EXPECT_TRUE(sameInMemory(dims, {}, Dims{2, 1, 0}));
  EXPECT_TRUE(sameInMemory(dims, {}, Dims{1, 2, 0}));
  EXPECT_TRUE(sameInMemory(dims, Dims{2, 0, 1}, Dims{1, 2, 0}));
  EXPECT_FALSE(sameInMemory(dims, {}, Dims{0, 1, 2}));
  EXPECT_FALSE(sameInMemory(Dims{0, 4}, {}, Dims{0, 1}));
}

TEST(Layout, Text) {
  EXPECT_EQ(layoutText({}, 0), "{}");
  EXPECT_EQ(layoutText({}, 2), "{1,0}");
  EXPECT_EQ(layoutText(Dims{0, 1}, 2), "{0,1}");
  const ArrayType type(Shape{DType::f32, {4, 8}}, {0, 1});
  EXPECT_EQ(toString(type), "f32[4,8]{0,1}");
  EXPECT_EQ(toString(ArrayType(type.shape)), "f32[4,8]");
  EXPECT_EQ(type.inMemory(), (Shape{DType::f32, {8, 4}}));
}

}  // namespace
}  // namespace tercel
