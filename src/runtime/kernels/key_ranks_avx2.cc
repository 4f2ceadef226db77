#define TERCEL_VECTOR_BYTES 32
#include "runtime/kernels/key_ranks_code.h"

namespace tercel::kernels {

extern const KeyRanks avx2_key_ranks = kKeyRanks;

}  // namespace tercel::kernels
