// Bytes at 64-byte alignment, so that constants are read in place with aligned vector loads.
#pragma once
#include <cstddef>
#include <new>
#include <vector>

namespace tercel::program {

template <class T>
struct CacheLineAllocator {
  using value_type = T;
  static constexpr std::align_val_t kAlign{64};

  CacheLineAllocator() = default;
  template <class U>
  CacheLineAllocator(const CacheLineAllocator<U>&) {}
  T* allocate(size_t n) { return static_cast<T*>(::operator new(n * sizeof(T), kAlign)); }
  void deallocate(T* data, size_t) { ::operator delete(data, kAlign); }
  friend bool operator==(CacheLineAllocator, CacheLineAllocator) { return true; }
};

using AlignedBytes = std::vector<std::byte, CacheLineAllocator<std::byte>>;

}  // namespace tercel::program
