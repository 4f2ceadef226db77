#define TERCEL_ISA avx2
#define TERCEL_VECTOR_BYTES 32
#include "runtime/kernels/key_ranks_code.h"
