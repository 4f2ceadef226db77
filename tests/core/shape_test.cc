#include "core/shape.h"

#include <gtest/gtest.h>

namespace tercel {
namespace {

TEST(Shape, CountsAndStrides) {
  Shape shape{DType::f64, {2, 3, 4}};
  EXPECT_EQ(shape.rank(), 3);
  EXPECT_EQ(shape.elements(), 24);
  EXPECT_EQ(shape.bytes(), 192);
  EXPECT_EQ(rowMajorStrides(shape.dims), (Dims{12, 4, 1}));
  EXPECT_EQ((Shape{DType::s32, {}}).elements(), 1);
  EXPECT_EQ((Shape{DType::s32, {5, 0}}).elements(), 0);
  EXPECT_TRUE(rowMajorStrides(Dims{}).empty());
}

TEST(Shape, Text) {
  EXPECT_EQ(toString(Shape{DType::bf16, {4, 8}}), "bf16[4,8]");
  EXPECT_EQ(toString(Shape{DType::pred, {}}), "pred[]");
}

TEST(Shape, Equality) {
  EXPECT_EQ((Shape{DType::f32, {2}}), (Shape{DType::f32, {2}}));
  EXPECT_NE((Shape{DType::f32, {2}}), (Shape{DType::s32, {2}}));
  EXPECT_NE((Shape{DType::f32, {2}}), (Shape{DType::f32, {2, 1}}));
}

TEST(Shape, SizesThatFit) {
  constexpr int64_t kBig = int64_t{1} << 31;
  EXPECT_TRUE(sizeIsRepresentable(Dims{}, 16));
  EXPECT_TRUE(sizeIsRepresentable(Dims{kBig, kBig}, 1));
  EXPECT_FALSE(sizeIsRepresentable(Dims{kBig, kBig}, 2));
  EXPECT_FALSE(sizeIsRepresentable(Dims{kBig, kBig, kBig}, 1));
  EXPECT_FALSE(sizeIsRepresentable(Dims{3, -1}, 1));
  EXPECT_TRUE(sizeIsRepresentable(Dims{0, kBig}, 8));
  // The strides of an empty array must be computable, too.
  EXPECT_FALSE(sizeIsRepresentable(Dims{0, kBig, kBig, kBig}, 1));
  EXPECT_FALSE(sizeIsRepresentable(Dims{kBig, kBig, kBig, 0}, 1));
}

}  // namespace
}  // namespace tercel
