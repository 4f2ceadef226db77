// The parts that a library's own code names; what nobody names is not linked.
#include "runtime/engine/parts.h"

#include "runtime/library/embedded.h"

namespace tercel::engine {
namespace {

Parts chosen;

}  // namespace

const Parts& parts() { return chosen; }

}  // namespace tercel::engine

void tercel_part_fft(void) { tercel::engine::chosen.make_fft = tercel::kernels::Fft::make; }

void tercel_part_sort(void) {
  tercel::engine::chosen.sort = tercel::kernels::sort;
  tercel::engine::chosen.key_sort = tercel::kernels::keySort;
}
