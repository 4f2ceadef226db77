#define TERCEL_VECTOR_BYTES 64
#include "runtime/kernels/key_ranks_code.h"

namespace tercel::kernels {

extern const KeyRanks avx512_key_ranks = kKeyRanks;

}  // namespace tercel::kernels
