// The parts that a library's own code names; what nobody names is not linked.
#include "runtime/library/parts.h"

#include "runtime/library/embedded.h"

namespace tercel::engine {

Parts& chosenParts() {
  static constinit Parts chosen;
  return chosen;
}

const Parts& parts() { return chosenParts(); }

}  // namespace tercel::engine

void tercel_part_fft_f32(void) {
  tercel::engine::chosenParts().make_fft_f32 = tercel::kernels::makeFft<float>;
}

void tercel_part_fft_f64(void) {
  tercel::engine::chosenParts().make_fft_f64 = tercel::kernels::makeFft<double>;
}

void tercel_part_sort(void) {
  tercel::engine::chosenParts().sort = tercel::kernels::sort;
  tercel::engine::chosenParts().key_sort = tercel::kernels::keySort;
}

void tercel_part_debug_print(void) {
  tercel::engine::chosenParts().debug_print = tercel::engine::debugPrint;
}
