// How long an executable runs, where the estimate may be far too long: of loops whose turns nobody
// knows beforehand, above all.
#pragma once
#include <algorithm>
#include <atomic>
#include <chrono>
#include <optional>

namespace tercel::runtime {

// Of one executable. Any thread may use it.
class MeasuredCost {
 public:
  using Duration = std::chrono::steady_clock::duration;

  void ran(Duration duration) {
    before_.store(last_.exchange(duration.count(), std::memory_order_relaxed),
                  std::memory_order_relaxed);
  }
  // The longer of the last two runs, in nanoseconds; none before there were two.
  std::optional<double> nanoseconds() const {
    const auto last = last_.load(std::memory_order_relaxed);
    const auto before = before_.load(std::memory_order_relaxed);
    if (last < 0 || before < 0) return {};
    return std::chrono::duration<double, std::nano>(Duration(std::max(last, before))).count();
  }

 private:
  std::atomic<Duration::rep> last_{-1}, before_{-1};
};

}  // namespace tercel::runtime
