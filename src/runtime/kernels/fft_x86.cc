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

template <class T>
const LaneKernels<T>& chosen(const LaneKernels<T>& baseline, const LaneKernels<T>& avx2,
                             const LaneKernels<T>& avx512) {
  const Isa isa = isaOfThisMachine();
  return isa == Isa::baseline ? baseline : isa == Isa::avx2 ? avx2 : avx512;
}

}  // namespace

template <>
const LaneKernels<float>& laneKernels() {
  return chosen(baseline_f32, avx2_f32, avx512_f32);
}
template <>
const LaneKernels<double>& laneKernels() {
  return chosen(baseline_f64, avx2_f64, avx512_f64);
}

}  // namespace tercel::kernels::fft
