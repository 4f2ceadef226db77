#include "runtime/kernels/isa.h"

namespace tercel::kernels {

Isa isaOfThisMachine() { return Isa::baseline; }  // NEON's vectors

}  // namespace tercel::kernels
