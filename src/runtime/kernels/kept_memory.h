// Working memory that a thread keeps: what is given back waits there for the next who needs as
// much. So a program that has run once on a thread runs again without allocating.
#pragma once
#include <cstddef>
#include <cstdint>
#include <new>

namespace tercel::kernels {

// 64-byte aligned, content undefined; null where there is no memory.
void* takeMemory(size_t bytes) noexcept;
// What takeMemory() gave, on any thread; null is fine.
void giveMemory(void* memory) noexcept;

// For the whole process: longer blocks go back to the system at once. Without a call all stay.
void keepBlocksUpTo(size_t bytes);
// Gives what the calling thread keeps back to the system.
void releaseKeptMemory();

// One piece of it.
class KeptMemory {
 public:
  KeptMemory() = default;
  KeptMemory(const KeptMemory&) = delete;
  KeptMemory& operator=(const KeptMemory&) = delete;
  ~KeptMemory() { giveMemory(data_); }

  // Room for `count` elements; null where there is no memory. What was taken before is gone.
  template <class T>
  T* tryTake(int64_t count) {
    giveMemory(data_);
    data_ = takeMemory(static_cast<size_t>(count) * sizeof(T));
    return static_cast<T*>(data_);
  }
  template <class T>
  T* take(int64_t count) {
    T* memory = tryTake<T>(count);
    if (!memory) throw std::bad_alloc();
    return memory;
  }

 private:
  void* data_ = nullptr;
};

}  // namespace tercel::kernels
