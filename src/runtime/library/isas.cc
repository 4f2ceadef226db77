// The instruction sets that a library's own code names.
#include "runtime/kernels/isa.h"

extern "C" {
#define TERCEL_ISA_PART(isa) [[gnu::weak, gnu::visibility("hidden")]] void tercel_part_##isa(void);
TERCEL_ISAS(TERCEL_ISA_PART)
}

namespace tercel::kernels {

bool isLinked(Isa isa) {
#define TERCEL_PART_ADDRESS(isa) tercel_part_##isa,
  static void (*const parts[])(void) = {TERCEL_ISAS(TERCEL_PART_ADDRESS)};
  return parts[static_cast<int>(isa)];
}

}  // namespace tercel::kernels
