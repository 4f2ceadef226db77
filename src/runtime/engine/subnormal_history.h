// Products that met subnormal numbers in earlier calls, and how a thread knows that it meets some.
#pragma once
#include <atomic>
#include <cstdint>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace tercel::engine {

// What earlier calls of one product saw: whether it is time to look at the operands again. Any
// number of threads; what they lose of each other's notes costs a look.
class SubnormalHistory {
 public:
  bool expectsSome() const { return calls_to_wait_.load(std::memory_order_relaxed) == 0; }
  // Arithmetic met a subnormal number, in the operands or elsewhere.
  void noteMet();
  // Looking at the operands helped, or there was nothing to do for them.
  void noteLooked(bool helped);

 private:
  static constexpr int32_t kMostCalls = 64;
  std::atomic<int32_t> calls_to_wait_{1};  // that meet some, before the next look
  std::atomic<int32_t> wait_{1};
};

// Whether the calling thread's arithmetic meets subnormal operands while it lives. Where the machine
// does not say, never.
class SubnormalWatch {
 public:
#if defined(__x86_64__)
  SubnormalWatch() {
    if (const uint32_t flags = _mm_getcsr(); flags & kMet) _mm_setcsr(flags & ~kMet);
  }
  bool metAny() const { return _mm_getcsr() & kMet; }

 private:
  static constexpr uint32_t kMet = 2;  // DE of MXCSR
#else
  bool metAny() const { return false; }
#endif
};

}  // namespace tercel::engine
