// Lists in memory that the thread keeps: a saved program allocates in its first call only.
#pragma once
#include <vector>

#include "runtime/kernels/kept_memory.h"

namespace tercel::linalg {

template <class T>
struct KeptAllocator {
  using value_type = T;
  KeptAllocator() = default;
  template <class U>
  KeptAllocator(const KeptAllocator<U>&) {}
  T* allocate(size_t count) {
    void* memory = kernels::takeMemory(count * sizeof(T));
    if (!memory) throw std::bad_alloc();
    return static_cast<T*>(memory);
  }
  void deallocate(T* memory, size_t) { kernels::giveMemory(memory); }
  bool operator==(const KeptAllocator&) const { return true; }
};

template <class T>
using KeptVector = std::vector<T, KeptAllocator<T>>;

}  // namespace tercel::linalg
