// Jobs of lanes for any number of lines, on all threads.
#pragma once
#include <algorithm>
#include <atomic>
#include <new>

#include "runtime/kernels/fft_plan.h"
#include "runtime/kernels/kept_memory.h"
#include "runtime/kernels/parallel.h"

namespace tercel::kernels::fft {

// An array [outer, points, inner] of lines.
struct LineLayout {
  int64_t outer, inner;
  int64_t lines() const { return outer * inner; }
};

// The lanes of `side` become the lines from `first` on. A group that is not full repeats its last
// line: all lanes have been read before any is written.
template <class T>
void aim(LaneSide<T>& side, const LineLayout& layout, int64_t first, int lanes) {
  const int64_t width = side.real ? 1 : 2;
  for (int l = 0; l < lanes; ++l) {
    int64_t line = std::min(first + l, layout.lines() - 1);
    int64_t outer = line / layout.inner, inner = line % layout.inner;
    side.offset[l] = outer * side.points * side.stride + inner * width;
  }
  side.neighbours = !side.real && layout.inner > 1 && first % layout.inner + lanes <= layout.inner;
}

template <class T>
void runGroups(const LaneJob<T>& job, const LineLayout& from, const LineLayout& to,
               const Parallel& parallel) {
  const LaneKernels<T>& kernels = laneKernels<T>();
  const int64_t groups = (from.lines() + kernels.lanes - 1) / kernels.lanes;
  const int64_t numbers = scratchNumbers(*job.tables);
  constexpr int64_t kWorthwhile = 1 << 15;  // numbers of scratch that a thread should be woken for
  std::atomic<bool> failed{false};
  auto work = [&](int64_t begin, int64_t end) {
    KeptMemory<T> memory;
    T* scratch = memory.tryTake(numbers);
    if (!scratch) return failed.store(true, std::memory_order_relaxed);
    for (int64_t g = begin; g < end; ++g) {
      LaneJob<T> group = job;
      const int64_t first = g * kernels.lanes;
      aim(group.from, from, first, kernels.lanes);
      aim(group.to, to, first, kernels.lanes);
      if (job.turns) group.turns += first;
      kernels.run(group, scratch);
    }
  };
  parallel.forEach(groups, std::max<int64_t>(1, kWorthwhile / numbers), work);
  if (failed) throw std::bad_alloc();
}

}  // namespace tercel::kernels::fft
