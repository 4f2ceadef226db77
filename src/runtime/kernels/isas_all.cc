#include "runtime/kernels/isa.h"

namespace tercel::kernels {

bool isLinked(Isa) { return true; }

}  // namespace tercel::kernels
