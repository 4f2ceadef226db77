// Memory that a thread keeps from one transform to the next.
#pragma once
#include <cstdint>
#include <cstdlib>
#include <new>

namespace tercel::kernels::fft {

class Workspace {
 public:
  Workspace() = default;
  Workspace(const Workspace&) = delete;
  Workspace& operator=(const Workspace&) = delete;
  ~Workspace() { std::free(memory_); }

  // `count` elements on 64 bytes, of undefined values; what was there before is gone. Null where
  // there is no memory.
  template <class T>
  T* tryTake(int64_t count) {
    size_t bytes = (static_cast<size_t>(count) * sizeof(T) + 63) / 64 * 64;
    if (bytes > bytes_) {
      std::free(memory_);
      bytes_ = 0;
      memory_ = std::aligned_alloc(64, bytes);
      if (!memory_) return nullptr;
      bytes_ = bytes;
    }
    return static_cast<T*>(memory_);
  }
  template <class T>
  T* take(int64_t count) {
    T* memory = tryTake<T>(count);
    if (!memory) throw std::bad_alloc();
    return memory;
  }

 private:
  void* memory_ = nullptr;
  size_t bytes_ = 0;
};

}  // namespace tercel::kernels::fft
