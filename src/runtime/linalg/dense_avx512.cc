#define TERCEL_ISA avx512
#define TERCEL_VECTOR_BYTES 64
#include "runtime/linalg/dense_code.h"
