#include "compiler/plan/storage.h"

#include <algorithm>

#include "core/integers.h"
#include "core/stagger.h"

namespace tercel::plan {
namespace {

constexpr int64_t kAlign = 64;

// Behind a large array there is room, so that the next one begins at another place of a page.
int64_t spaceOf(int64_t bytes) {
  return roundUp(bytes, kAlign) + (bytes < kStaggeredFrom ? 0 : kStagger);
}

}  // namespace

std::vector<StorageId> wholeStorages(const std::vector<Storage>& storages, StorageId first) {
  std::vector<StorageId> whole;
  for (StorageId id = first; id < storages.size(); ++id)
    if (storages[id].place == program::Place::arena && storages[id].part_of == kNoStorage &&
        storages[id].first != kUnborn)
      whole.push_back(id);
  return whole;
}

int64_t assignOffsets(std::vector<Storage>& storages) {
  return assignOffsets(storages, wholeStorages(storages));
}

int64_t assignOffsets(std::vector<Storage>& storages, std::vector<StorageId> order) {
  std::stable_sort(order.begin(), order.end(), [&](StorageId a, StorageId b) {
    return storages[a].first < storages[b].first;
  });
  std::vector<StorageId> live;  // by offset
  int64_t size = 0;
  for (StorageId id : order) {
    Storage& s = storages[id];
    std::erase_if(live, [&](StorageId other) { return storages[other].last < s.first; });
    int64_t at = 0;
    size_t position = 0;
    for (; position < live.size(); ++position) {
      const Storage& other = storages[live[position]];
      if (at + spaceOf(s.bytes) <= other.offset) break;
      at = std::max(at, other.offset + spaceOf(other.bytes));
    }
    s.offset = at;
    live.insert(live.begin() + static_cast<int64_t>(position), id);
    size = std::max(size, at + roundUp(s.bytes, kAlign));
  }
  return size;
}

}  // namespace tercel::plan
