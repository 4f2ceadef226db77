#include "runtime/launch_habit.h"
#include "runtime/measured_cost.h"

#include <gtest/gtest.h>

namespace tercel::runtime {
namespace {

using std::chrono::microseconds;

class LaunchHabitTest : public testing::Test {
 protected:
  void launch() { habit.launched(now); }
  void waitAfter(microseconds pause) { habit.waitedFor(now += pause); }
  void launchAndWait(microseconds pause, int times) {
    for (int i = 0; i < times; ++i) {
      launch();
      waitAfter(pause);
    }
  }

  LaunchHabit::Time now{};
  LaunchHabit habit;
};

TEST_F(LaunchHabitTest, NobodyWaitsAtFirst) {
  EXPECT_FALSE(habit.isWaitedFor());
  launchAndWait(microseconds(10), 1);
  EXPECT_FALSE(habit.isWaitedFor());
}

TEST_F(LaunchHabitTest, SeveralWaitsAtOnceAreAHabit) {
  launchAndWait(microseconds(10), 2);
  EXPECT_TRUE(habit.isWaitedFor());
  launchAndWait(microseconds(10), 1000);
  EXPECT_TRUE(habit.isWaitedFor());
}

TEST_F(LaunchHabitTest, WorkBeforeTheWaitEndsIt) {
  launchAndWait(microseconds(10), 5);
  launchAndWait(microseconds(5000), 1);
  EXPECT_FALSE(habit.isWaitedFor());
}

TEST_F(LaunchHabitTest, LaunchesInARowEndIt) {
  launchAndWait(microseconds(10), 5);
  launch();
  EXPECT_TRUE(habit.isWaitedFor());
  launch();
  EXPECT_FALSE(habit.isWaitedFor());
}

TEST(MeasuredCostTest, IsTheLongerOfTheLastTwoRuns) {
  MeasuredCost measured;
  EXPECT_FALSE(measured.nanoseconds());
  measured.ran(microseconds(50));
  EXPECT_FALSE(measured.nanoseconds());
  measured.ran(microseconds(20));
  EXPECT_EQ(measured.nanoseconds(), 50e3);
  measured.ran(microseconds(30));
  EXPECT_EQ(measured.nanoseconds(), 30e3);
  measured.ran(microseconds(7000));
  EXPECT_EQ(measured.nanoseconds(), 7e6);
}

}  // namespace
}  // namespace tercel::runtime
