// For the vectors that every machine has: SSE2's, NEON's.
#define TERCEL_VECTOR_BYTES 16
#include "runtime/kernels/fft_lanes_code.h"

namespace tercel::kernels::fft {

extern const LaneKernels<float> baseline_f32 = kKernels<float>;
extern const LaneKernels<double> baseline_f64 = kKernels<double>;

}  // namespace tercel::kernels::fft
