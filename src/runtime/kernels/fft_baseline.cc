// For the vectors that every machine has: SSE2's, NEON's.
#define TERCEL_ISA baseline
#define TERCEL_VECTOR_BYTES 16
#include "runtime/kernels/fft_lanes_code.h"
