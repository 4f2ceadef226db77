#define TERCEL_FFT_BYTES 16
#include "runtime/kernels/fft_lanes_code.h"

namespace tercel::kernels::fft {

extern const LaneKernels<float> sse2_f32 = kKernels<float>;
extern const LaneKernels<double> sse2_f64 = kKernels<double>;

}  // namespace tercel::kernels::fft
