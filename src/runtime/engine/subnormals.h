// What the calling thread's arithmetic makes of subnormal numbers.
#pragma once
#include <cstdint>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace tercel::engine {

enum class Subnormals : uint8_t {
  keep,
  flush,  // operands and results that are subnormal become zeros of their sign
};

// For as long as it lives; whatever the thread did before comes back then.
class SubnormalScope {
 public:
  explicit SubnormalScope(Subnormals wanted) : before_(read()) {
    const uint64_t now = wanted == Subnormals::flush ? before_ | kFlush : before_ & ~kFlush;
    if (now != before_) write(now);
  }
  ~SubnormalScope() {
    if (const uint64_t now = read(); (now ^ before_) & kFlush) write(now ^ kFlush);
  }
  SubnormalScope(const SubnormalScope&) = delete;
  SubnormalScope& operator=(const SubnormalScope&) = delete;

 private:
#if defined(__x86_64__)
  static constexpr uint64_t kFlush = 0x8040;  // FTZ and DAZ of MXCSR
  static uint64_t read() { return _mm_getcsr(); }
  static void write(uint64_t mode) { _mm_setcsr(static_cast<uint32_t>(mode)); }
#else
  static constexpr uint64_t kFlush = 1 << 24;  // FZ of FPCR
  static uint64_t read() { return __builtin_aarch64_get_fpcr64(); }
  static void write(uint64_t mode) { __builtin_aarch64_set_fpcr64(mode); }
#endif

  const uint64_t before_;
};

}  // namespace tercel::engine
