#include "runtime/engine/subnormal_history.h"

#include <algorithm>

namespace tercel::engine {

void SubnormalHistory::noteMet() {
  const int32_t left = calls_to_wait_.load(std::memory_order_relaxed);
  calls_to_wait_.store(std::max(0, left - 1), std::memory_order_relaxed);
}

void SubnormalHistory::noteLooked(bool helped) {
  const int32_t wait =
      helped ? 1 : std::min(kMostCalls, 2 * wait_.load(std::memory_order_relaxed));
  wait_.store(wait, std::memory_order_relaxed);
  if (!helped) calls_to_wait_.store(wait, std::memory_order_relaxed);
}

}  // namespace tercel::engine
