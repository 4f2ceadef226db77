#include "runtime/kernels/fft_lanes.h"

#include "runtime/kernels/isa.h"

namespace tercel::kernels::fft {

#define TERCEL_FFT_KERNELS(isa)                        \
  namespace isa {                                      \
  TERCEL_OF_ISA extern const LaneKernels<float> f32;   \
  TERCEL_OF_ISA extern const LaneKernels<double> f64;  \
  }
TERCEL_ISAS(TERCEL_FFT_KERNELS)

template <>
const LaneKernels<float>& laneKernels() {
  return TERCEL_CHOSEN(f32);
}
template <>
const LaneKernels<double>& laneKernels() {
  return TERCEL_CHOSEN(f64);
}

}  // namespace tercel::kernels::fft
