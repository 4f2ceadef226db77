// Which instructions the transforms use on x86-64.
#include "runtime/kernels/fft_lanes.h"
#include "runtime/kernels/isa.h"

namespace tercel::kernels::fft {

#define TERCEL_FFT_KERNELS(isa)                  \
  extern const LaneKernels<float> isa##_f32;     \
  extern const LaneKernels<double> isa##_f64;
TERCEL_FFT_KERNELS(baseline)
TERCEL_FFT_KERNELS(avx2)
TERCEL_FFT_KERNELS(avx512)
#undef TERCEL_FFT_KERNELS

namespace {

const Isa kIsa = isaOfThisMachine();

}  // namespace

template <>
const LaneKernels<float>& laneKernels() {
  return kIsa == Isa::baseline ? baseline_f32 : kIsa == Isa::avx2 ? avx2_f32 : avx512_f32;
}
template <>
const LaneKernels<double>& laneKernels() {
  return kIsa == Isa::baseline ? baseline_f64 : kIsa == Isa::avx2 ? avx2_f64 : avx512_f64;
}

}  // namespace tercel::kernels::fft
