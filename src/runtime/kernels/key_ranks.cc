#include "runtime/kernels/key_ranks.h"

#include "runtime/kernels/isa.h"

namespace tercel::kernels {

#define TERCEL_KEY_RANKS(isa)                \
  namespace isa {                            \
  TERCEL_OF_ISA extern const KeyRanks key_ranks; \
  }
TERCEL_ISAS(TERCEL_KEY_RANKS)

const KeyRanks& keyRanks() { return TERCEL_CHOSEN(key_ranks); }

}  // namespace tercel::kernels
