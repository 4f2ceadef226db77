// Which instructions keys are ranked with on x86-64.
#include "runtime/kernels/isa.h"
#include "runtime/kernels/key_ranks.h"

namespace tercel::kernels {

extern const KeyRanks baseline_key_ranks, avx2_key_ranks, avx512_key_ranks;

const KeyRanks& keyRanks() {
  const Isa isa = isaOfThisMachine();
  return isa == Isa::baseline ? baseline_key_ranks
         : isa == Isa::avx2   ? avx2_key_ranks
                              : avx512_key_ranks;
}

}  // namespace tercel::kernels
