// The threads that work on one matrix: its call's, where that has no others.
#pragma once
#include <algorithm>
#include <atomic>
#include <new>
#include <utility>

#include "runtime/kernels/parallel.h"

namespace tercel::linalg {

// Those of what the calling thread does while the object lives; null: itself alone.
class Team {
 public:
  explicit Team(const kernels::Parallel* threads) : before_(std::exchange(current(), threads)) {}
  ~Team() { current() = before_; }
  Team(const Team&) = delete;
  Team& operator=(const Team&) = delete;

  // f(begin, end) of parts of [0, size) that begin at multiples of `step`, where a thread gets no
  // less than `least` operations of all `operations`. Results must not depend on the parts.
  template <class F>
  static void share(int64_t size, int64_t step, double operations, F&& f) {
    constexpr double kLeast = 1 << 20;  // operations that make a part worth its start
    const int64_t steps = (size + step - 1) / step;
    const double parts = std::min(operations / kLeast, static_cast<double>(steps));
    if (!current() || parts < 2) return f(int64_t{0}, size);
    std::atomic<bool> no_memory{false};
    current()->forEach(steps, static_cast<int64_t>(steps / parts), [&](int64_t begin, int64_t end) {
      const Team alone(nullptr);
      try {
        f(begin * step, std::min(end * step, size));
      } catch (const std::bad_alloc&) {
        no_memory = true;
      }
    });
    if (no_memory) throw std::bad_alloc();
  }

 private:
  static const kernels::Parallel*& current() {
    thread_local const kernels::Parallel* threads = nullptr;
    return threads;
  }

  const kernels::Parallel* before_;
};

}  // namespace tercel::linalg
