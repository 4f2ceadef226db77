// Memory of a device. Freed blocks are kept by size class and handed out again: fresh pages cost
// more than the arithmetic of most programs.
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <vector>

#include "core/status.h"

namespace tercel::runtime {

struct AllocatorStats {
  int64_t bytes_in_use = 0;       // handed out, without the rounding to size classes
  int64_t peak_bytes_in_use = 0;
  int64_t bytes_cached = 0;       // freed and kept
  int64_t bytes_limit = 0;        // of bytes in use and cached, rounding included
  int64_t allocations = 0;        // since the start
  int64_t allocations_in_use = 0;
  int64_t largest_allocation = 0;
};

enum class Poison : uint8_t { off, nan, byte };  // fill of fresh memory: none, 0xff, 0xcb

class Allocator {
 public:
  // Limits are in bytes. limit 0: the memory that the machine (or its cgroup) has.
  explicit Allocator(int64_t limit = 0, Poison poison = Poison::off);
  ~Allocator();
  Allocator(const Allocator&) = delete;
  Allocator& operator=(const Allocator&) = delete;

  // 64-byte aligned (2 MiB from 4 MiB on), never null, content undefined; `bytes` may be 0.
  // RESOURCE_EXHAUSTED where the limit or the machine does not allow it.
  Result<void*> allocate(int64_t bytes);
  // `bytes` is what was asked for.
  void free(void* data, int64_t bytes);
  // Gives cached blocks back to the machine.
  void trim();
  AllocatorStats stats() const;
  // Peak, largest and count start anew from what is in use.
  void resetStats();

  static constexpr int64_t kAlign = 64;

 private:
  static constexpr int kClasses = 200;
  static int sizeClass(int64_t bytes);
  static int64_t classBytes(int size_class);
  void* takeCached(int size_class);
  void trimLocked();

  const int64_t limit_;
  const int64_t cache_limit_;
  const Poison poison_;
  mutable std::mutex mutex_;
  int64_t reserved_ = 0;  // from the machine: in use and cached, rounded
  AllocatorStats stats_;
  std::array<std::vector<void*>, kClasses> cached_;
};

}  // namespace tercel::runtime
