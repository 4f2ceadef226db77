#define TERCEL_ISA avx512
#define TERCEL_VECTOR_BYTES 64
#include "runtime/kernels/key_ranks_code.h"
