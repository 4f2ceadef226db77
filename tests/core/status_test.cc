#include "core/status.h"

#include <gtest/gtest.h>

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
