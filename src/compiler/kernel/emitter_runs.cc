// Lanes that lie in a few runs far apart, as pixels of an image whose channels are planes: a load
// for each run, and shuffles.
#include <algorithm>

#include "compiler/kernel/emitter.h"

namespace tercel::kernel {
namespace {

struct Run {
  int64_t first, last;
};

// No longer than `width`.
std::vector<Run> runsOf(std::span<const int64_t> places, int64_t width) {
  std::vector<int64_t> sorted(places.begin(), places.end());
  std::ranges::sort(sorted);
  std::vector<Run> runs;
  for (int64_t place : sorted) {
    if (runs.empty() || place >= runs.back().first + width) runs.push_back({place, place});
    runs.back().last = place;
  }
  return runs;
}

// Beyond so many, gathering them takes no longer; where nothing gathers, loads of each lane do.
size_t mostRuns(Scalar stored, int lanes) {
  return static_cast<size_t>(byteSize(stored) >= 4 ? lanes / 4 + 1 : lanes / 2);
}

}  // namespace

V Emitter::loadRuns(BufferId buffer, const Index& base, std::span<const int64_t> places) {
  const Scalar stored = b_.kernel().buffers[buffer].element;
  if (isScratch(buffer) || stored == Scalar::i1 || byteSize(stored) < b_.machine.masked_bytes ||
      std::ranges::find(places, kNoPlace) != places.end())
    return {};
  const std::vector<Run> runs = runsOf(places, lanes_);
  if (runs.size() > mostRuns(stored, lanes_)) return {};
  const V at = space_.emitScalar(base, true);
  V all;
  for (const Run& run : runs) {
    const int64_t reach = run.last - run.first + 1, offset = base.constant + run.first;
    const V next = reach == lanes_
                       ? b_.load(buffer, at, lanes_, offset)
                       : b_.loadMasked(buffer, at, firstLanes(b_, lanes_, b_.index(reach)).lanes,
                                       offset);
    std::vector<int16_t> from;
    for (int lane = 0; lane < lanes_; ++lane) {
      const int64_t place = places[static_cast<size_t>(lane)] - run.first;
      const bool is_here = place >= 0 && place < lanes_;
      from.push_back(static_cast<int16_t>(is_here ? lanes_ + place : lane));
    }
    all = b_.shuffle(all.valid() ? all : next, next, from);
  }
  return all;
}

}  // namespace tercel::kernel
