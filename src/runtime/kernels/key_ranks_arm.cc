#include "runtime/kernels/key_ranks.h"

namespace tercel::kernels {

extern const KeyRanks baseline_key_ranks;

const KeyRanks& keyRanks() { return baseline_key_ranks; }

}  // namespace tercel::kernels
