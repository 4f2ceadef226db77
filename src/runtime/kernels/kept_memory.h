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

// A piece of it for elements of type T.
template <class T>
class KeptMemory {
 public:
  KeptMemory() = default;
  KeptMemory(const KeptMemory&) = delete;
  KeptMemory& operator=(const KeptMemory&) = delete;
  ~KeptMemory() { giveMemory(data_); }

  // Room for `count` elements; null where there is no memory. What was taken before is gone.
  T* tryTake(int64_t count) {
    giveMemory(data_);
    data_ = static_cast<T*>(takeMemory(static_cast<size_t>(count) * sizeof(T)));
    return data_;
  }
  T* take(int64_t count) {
    if (!tryTake(count)) throw std::bad_alloc();
    return data_;
  }
  T* get() const { return data_; }

 private:
  T* data_ = nullptr;
};

}  // namespace tercel::kernels
