#define TERCEL_ISA avx2
#define TERCEL_VECTOR_BYTES 32
#include "runtime/linalg/dense_code.h"
