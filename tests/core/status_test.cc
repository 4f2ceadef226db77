#include "core/status.h"

#include <gtest/gtest.h>

#include <limits>

namespace tercel {
namespace {

Status failWhen(bool wrong) { return wrong ? invalidArgument("wrong ", 3, ' ', 'x') : Status(); }
Result<int> doubled(int n) {
  TERCEL_TRY(failWhen(n < 0));
  return 2 * n;
}
Result<int> quadrupled(int n) {
  TERCEL_ASSIGN(int twice, doubled(n));
  TERCEL_ASSIGN(int again, doubled(twice));
  return again;
}

TEST(Status, TravelsUp) {
  EXPECT_EQ(*quadrupled(3), 12);
  Status status = quadrupled(-1).status();
  EXPECT_EQ(status.code(), Code::invalid_argument);
  EXPECT_EQ(status.message(), "wrong 3 x");
}

TEST(Status, WithinKeepsTheCode) {
  Status status = unimplemented("no sort").within("@main");
  EXPECT_EQ(status.code(), Code::unimplemented);
  EXPECT_EQ(status.message(), "@main: no sort");
  EXPECT_TRUE(Status().within("@main").ok());
}

TEST(Status, CopiesAreTheirOwn) {
  Status first = internalError("first");
  Status copy = first;
  first = invalidArgument("second");
  EXPECT_EQ(copy.code(), Code::internal);
  EXPECT_EQ(copy.message(), "first");
  EXPECT_EQ(first.message(), "second");
  Status moved = std::move(first);
  EXPECT_EQ(moved.message(), "second");
  moved = Status();
  EXPECT_TRUE(moved.ok());
  EXPECT_EQ(moved.message(), "");
  EXPECT_TRUE(Status(Code::ok, "nothing").ok());
}

TEST(Result, WithoutAValueIsACheckFailure) {
  Result<int> failed = invalidArgument("no number");
  EXPECT_THROW(*failed, CheckFailure);
  EXPECT_EQ(failed.status().message(), "no number");
  EXPECT_TRUE(Result<int>(7).status().ok());
}

TEST(Cat, TakesTextCharactersAndNumbers) {
  const std::string text = "text";
  const char* pointer = "pointer";
  EXPECT_EQ(cat(), "");
  EXPECT_EQ(cat(text, ' ', pointer, ' ', std::string_view(text).substr(1), " literal"),
            "text pointer ext literal");
  EXPECT_EQ(cat(true, ' ', int8_t{-5}, ' ', uint8_t{200}, ' ', -7L, ' ', 1.5f),
            "1 -5 200 -7 1.500000");
  EXPECT_EQ(cat(std::numeric_limits<int64_t>::min(), ' ', std::numeric_limits<uint64_t>::max()),
            "-9223372036854775808 18446744073709551615");
}

TEST(Check, NamesConditionPlaceAndMessage) {
  try {
    TERCEL_CHECK(1 == 2, "because ", 5);
    FAIL();
  } catch (const CheckFailure& failure) {
    EXPECT_NE(failure.message.find("1 == 2"), std::string::npos) << failure.message;
    EXPECT_NE(failure.message.find("status_test.cc"), std::string::npos) << failure.message;
    EXPECT_NE(failure.message.find("because 5"), std::string::npos) << failure.message;
  }
}

}  // namespace
}  // namespace tercel
