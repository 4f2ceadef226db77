#define TERCEL_VECTOR_BYTES 32
#include "runtime/kernels/fft_lanes_code.h"

namespace tercel::kernels::fft {

extern const LaneKernels<float> avx2_f32 = kKernels<float>;
extern const LaneKernels<double> avx2_f64 = kKernels<double>;

}  // namespace tercel::kernels::fft
