#include "runtime/kernels/isa.h"

#include <algorithm>
#include <atomic>

namespace tercel::kernels {
namespace {

Isa bestLinked() {
  Isa isa = TERCEL_BEST_ISA(__builtin_cpu_supports);
  while (isa != Isa::baseline && !isLinked(isa)) isa = static_cast<Isa>(static_cast<int>(isa) - 1);
  return isa;
}

std::atomic<Isa> limit{Isa::avx512};

}  // namespace

Isa isaOfThisMachine() {
  static const Isa isa = bestLinked();
  return std::min(isa, limit.load(std::memory_order_relaxed));
}

void useVectorsOf(int bytes) {
  limit = bytes < vectorBytes(Isa::avx2)     ? Isa::baseline
          : bytes < vectorBytes(Isa::avx512) ? Isa::avx2
                                             : Isa::avx512;
}

}  // namespace tercel::kernels
