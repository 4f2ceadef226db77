#define TERCEL_VECTOR_BYTES 64
#include "runtime/kernels/fft_lanes_code.h"

namespace tercel::kernels::fft {

extern const LaneKernels<float> avx512_f32 = kKernels<float>;
extern const LaneKernels<double> avx512_f64 = kKernels<double>;

}  // namespace tercel::kernels::fft
