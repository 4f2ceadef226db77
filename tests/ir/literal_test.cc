#include "compiler/ir/literal.h"

#include <gtest/gtest.h>

#include "core/status.h"

namespace tercel::ir {
namespace {

Literal fromInts(std::vector<int32_t> values) {
  auto bytes = std::as_bytes(std::span(values));
  return Literal(Shape{DType::s32, {static_cast<int64_t>(values.size())}},
                 {bytes.begin(), bytes.end()});
}

TEST(Literal, EqualElementsBecomeASplat) {
  EXPECT_TRUE(fromInts({7, 7, 7}).isSplat());
  EXPECT_FALSE(fromInts({7, 7, 8}).isSplat());
  EXPECT_FALSE(fromInts({}).isSplat());
  EXPECT_EQ(fromInts({7, 7, 7}).bytes().size(), 4u);
  EXPECT_EQ(fromInts({7, 7, 7}).at<int32_t>(2), 7);
}

TEST(Literal, ExpandedHoldsAllElements) {
  Literal all = Literal::splatOf(Shape{DType::s32, {3}}, 7).expanded();
  EXPECT_FALSE(all.isSplat());
  EXPECT_EQ(all.bytes().size(), 12u);
  EXPECT_EQ(all.at<int32_t>(2), 7);
  EXPECT_EQ(all, fromInts({7, 7, 7}));
  EXPECT_EQ(Literal::scalar(5.0).expanded(), Literal::scalar(5.0));
  EXPECT_TRUE(Literal::splatOf(Shape{DType::s32, {0}}, 7).expanded().bytes().empty());
}

TEST(Literal, EqualityIsOfShapeAndBits) {
  EXPECT_EQ(Literal::scalar(0.0f), Literal::scalar(0.0f));
  EXPECT_FALSE(Literal::scalar(0.0f) == Literal::scalar(-0.0f));
  EXPECT_FALSE(fromInts({1}) == fromInts({1}).withShape(Shape{DType::s32, {}}));
  EXPECT_FALSE(fromInts({1, 2}) == fromInts({1, 3}));
}

TEST(Literal, NumberOfEachType) {
  for (size_t i = 0; i < kDTypeCount; ++i) {
    DType dtype = static_cast<DType>(i);
    EXPECT_EQ(Literal::splatOf(Shape{dtype, {2}}, 1).number(1), 1) << dtypeName(dtype);
  }
}

TEST(Literal, WrongByteCountIsABug) {
  EXPECT_THROW(Literal(Shape{DType::s32, {3}}, std::vector<std::byte>(8)), CheckFailure);
}

}  // namespace
}  // namespace tercel::ir
