#include "runtime/launch_habit.h"

#include <algorithm>
#include <utility>

namespace tercel::runtime {
namespace {

constexpr int kEnough = 2;
constexpr auto kAtOnce = std::chrono::microseconds(100);  // Python's share of a call

thread_local std::weak_ptr<LaunchHabit> last_launched;

}  // namespace

bool LaunchHabit::isWaitedFor() const {
  std::lock_guard lock(mutex_);
  return at_once_ == kEnough;
}

void LaunchHabit::launched(Time now) {
  std::lock_guard lock(mutex_);
  if (!is_awaited_) at_once_ = 0;
  is_awaited_ = false;
  launched_ = now;
}

void LaunchHabit::waitedFor(Time now) {
  std::lock_guard lock(mutex_);
  at_once_ = now - launched_ < kAtOnce ? std::min(at_once_ + 1, kEnough) : 0;
  is_awaited_ = true;
}

void noteLaunch(const std::shared_ptr<LaunchHabit>& habit) {
  habit->launched(std::chrono::steady_clock::now());
  last_launched = habit;
}

void noteWait() {
  const auto habit = std::exchange(last_launched, {}).lock();
  if (habit) habit->waitedFor(std::chrono::steady_clock::now());
}

}  // namespace tercel::runtime
