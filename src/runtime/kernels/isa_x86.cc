#include "runtime/kernels/isa.h"

#include <algorithm>
#include <atomic>

namespace tercel::kernels {
namespace {

Isa detected() {
  if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma")) return Isa::baseline;
  return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
                 __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl")
             ? Isa::avx512
             : Isa::avx2;
}

std::atomic<Isa> limit{Isa::avx512};

}  // namespace

Isa isaOfThisMachine() {
  static const Isa isa = detected();
  return std::min(isa, limit.load(std::memory_order_relaxed));
}

void useVectorsOf(int bytes) {
  limit = bytes < vectorBytes(Isa::avx2)     ? Isa::baseline
          : bytes < vectorBytes(Isa::avx512) ? Isa::avx2
                                             : Isa::avx512;
}

}  // namespace tercel::kernels
