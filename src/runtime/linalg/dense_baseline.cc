#define TERCEL_ISA baseline
#define TERCEL_VECTOR_BYTES 16
#include "runtime/linalg/dense_code.h"
