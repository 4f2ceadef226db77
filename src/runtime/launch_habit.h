// Whether callers wait at once for what they launch. Such a program may as well run on the thread
// that launches it, which saves waking another one: some 40 microseconds on two processors.
#pragma once
#include <chrono>
#include <memory>
#include <mutex>

namespace tercel::runtime {

// Of one executable. Any thread may use it.
class LaunchHabit {
 public:
  using Time = std::chrono::steady_clock::time_point;

  bool isWaitedFor() const;
  // A launch has returned.
  void launched(Time now);
  // Whoever made the last launch waits for a result.
  void waitedFor(Time now);

 private:
  mutable std::mutex mutex_;
  Time launched_{};
  bool is_awaited_ = true;  // the last launch was; there is none yet
  int at_once_ = 0;         // launches in a row that were waited for at once, up to kEnough
};

// This thread has launched an executable of this habit, and waits for a result of some launch.
void noteLaunch(const std::shared_ptr<LaunchHabit>& habit);
void noteWait();

}  // namespace tercel::runtime
