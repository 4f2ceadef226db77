#include "runtime/allocator.h"

#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstdlib>
#include <cstring>
#include <limits>

#include "core/integers.h"
#include "core/stagger.h"
#include "runtime/engine/host.h"

namespace tercel::runtime {
namespace {

constexpr int64_t kHugePage = 2 << 20;
constexpr int64_t kHugeFrom = 4 << 20;
constexpr int64_t kLargest = int64_t{1} << 50;

void* fromMachine(int64_t bytes) {
  static std::atomic<uint32_t> blocks{0};
  const bool huge = bytes >= kHugeFrom, staggered = bytes >= kStaggeredFrom;
  const int64_t align = huge ? kHugePage : staggered ? kPage : Allocator::kAlign;
  const int64_t rounded = roundUp(bytes, align);
  const int64_t all = roundUp(rounded + (staggered ? kPage : 0), align);
  void* data = std::aligned_alloc(static_cast<size_t>(align), static_cast<size_t>(all));
  if (!staggered) return data;
  // Only advice: it costs nothing where the machine does not take it.
  if (data && huge) madvise(data, static_cast<size_t>(rounded), MADV_HUGEPAGE);
  const int64_t at = blocks.fetch_add(1, std::memory_order_relaxed) * kStagger % kPage;
  return data ? static_cast<char*>(data) + at : nullptr;
}

void toMachine(void* data, int64_t bytes) {
  const auto at = reinterpret_cast<uintptr_t>(data);
  std::free(bytes < kStaggeredFrom ? data : reinterpret_cast<void*>(at / kPage * kPage));
}

}  // namespace

// Four classes for each power of two, from 64 bytes on: a block is at most a quarter too large,
// and the pages of that part are never touched.
int Allocator::sizeClass(int64_t bytes) {
  if (bytes <= 64) return 0;
  uint64_t last = static_cast<uint64_t>(bytes - 1);
  int power = std::bit_width(last) - 1;  // 2^power <= last
  int quarter = static_cast<int>(last >> (power - 2)) & 3;
  return (power - 6) * 4 + quarter + 1;
}

int64_t Allocator::classBytes(int size_class) {
  if (size_class == 0) return 64;
  int power = (size_class - 1) / 4 + 6, quarter = (size_class - 1) % 4;
  return (int64_t{5} + quarter) << (power - 2);
}

Allocator::Allocator(int64_t limit, Poison poison)
    : limit_(limit > 0 ? limit : engine::availableMemory()),
      cache_limit_(limit_ / 4),
      poison_(poison) {
  stats_.bytes_limit = limit_;
}

Allocator::~Allocator() { trim(); }

void* Allocator::takeCached(int size_class) {
  std::vector<void*>& blocks = cached_[static_cast<size_t>(size_class)];
  if (blocks.empty()) return nullptr;
  void* data = blocks.back();
  blocks.pop_back();
  stats_.bytes_cached -= classBytes(size_class);
  return data;
}

Result<void*> Allocator::allocate(int64_t bytes) {
  TERCEL_CHECK(bytes >= 0);
  if (bytes > kLargest) return resourceExhausted("out of memory: ", bytes, " bytes asked for");
  int size_class = sizeClass(bytes);
  int64_t rounded = classBytes(size_class);
  void* data = nullptr;
  {
    std::lock_guard lock(mutex_);
    data = takeCached(size_class);
    if (!data) {
      if (reserved_ + rounded > limit_) trimLocked();
      if (reserved_ + rounded <= limit_) data = fromMachine(rounded);
      if (!data && stats_.bytes_cached > 0) {
        trimLocked();
        if (reserved_ + rounded <= limit_) data = fromMachine(rounded);
      }
      if (!data) {
        return resourceExhausted("out of memory: ", bytes, " bytes asked for, ",
                                 stats_.bytes_in_use, " of ", limit_, " in use");
      }
      reserved_ += rounded;
    }
    stats_.bytes_in_use += bytes;
    stats_.peak_bytes_in_use = std::max(stats_.peak_bytes_in_use, stats_.bytes_in_use);
    stats_.largest_allocation = std::max(stats_.largest_allocation, bytes);
    ++stats_.allocations;
    ++stats_.allocations_in_use;
  }
  if (poison_ != Poison::off) [[unlikely]] {
    std::memset(data, poison_ == Poison::nan ? 0xff : 0xcb, static_cast<size_t>(bytes));
  }
  return data;
}

void Allocator::free(void* data, int64_t bytes) {
  if (!data) return;
  int size_class = sizeClass(bytes);
  int64_t rounded = classBytes(size_class);
  std::lock_guard lock(mutex_);
  stats_.bytes_in_use -= bytes;
  --stats_.allocations_in_use;
  if (stats_.bytes_cached + rounded <= cache_limit_) {
    try {
      cached_[static_cast<size_t>(size_class)].push_back(data);
      stats_.bytes_cached += rounded;
      return;
    } catch (const std::bad_alloc&) {
      // No memory to remember it: give it back.
    }
  }
  toMachine(data, rounded);
  reserved_ -= rounded;
}

void Allocator::trimLocked() {
  for (int size_class = 0; size_class < kClasses; ++size_class) {
    while (void* data = takeCached(size_class)) {
      toMachine(data, classBytes(size_class));
      reserved_ -= classBytes(size_class);
    }
  }
}

void Allocator::trim() {
  std::lock_guard lock(mutex_);
  trimLocked();
}

AllocatorStats Allocator::stats() const {
  std::lock_guard lock(mutex_);
  return stats_;
}

void Allocator::resetStats() {
  std::lock_guard lock(mutex_);
  stats_.peak_bytes_in_use = stats_.bytes_in_use;
  stats_.largest_allocation = 0;
  stats_.allocations = 0;
}

}  // namespace tercel::runtime
