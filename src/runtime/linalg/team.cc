#include "runtime/linalg/team.h"

#include <algorithm>
#include <atomic>
#include <new>

namespace tercel::linalg {

const kernels::Parallel*& Team::current() {
  thread_local const kernels::Parallel* threads = nullptr;
  return threads;
}

void Team::share(int64_t size, int64_t step, double operations, kernels::TaskFn fn, void* context) {
  constexpr double kLeast = 1 << 20;  // operations that make a part worth its start
  const int64_t steps = (size + step - 1) / step;
  const double parts = std::min(operations / kLeast, static_cast<double>(steps));
  if (!current() || parts < 2) return fn(context, 0, size);
  std::atomic<bool> no_memory{false};
  const auto grain = static_cast<int64_t>(static_cast<double>(steps) / parts);
  current()->forEach(steps, grain, [&](int64_t begin, int64_t end) {
    const Team alone(nullptr);
    try {
      fn(context, begin * step, std::min(end * step, size));
    } catch (const std::bad_alloc&) {
      no_memory = true;
    }
  });
  if (no_memory) throw std::bad_alloc();
}

}  // namespace tercel::linalg
