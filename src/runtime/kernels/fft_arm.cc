// The transforms have NEON's vectors on aarch64.
#include "runtime/kernels/fft_lanes.h"

namespace tercel::kernels::fft {

extern const LaneKernels<float> baseline_f32;
extern const LaneKernels<double> baseline_f64;

template <>
const LaneKernels<float>& laneKernels() {
  return baseline_f32;
}
template <>
const LaneKernels<double>& laneKernels() {
  return baseline_f64;
}

}  // namespace tercel::kernels::fft
