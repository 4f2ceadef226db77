#include "runtime/kernels/isa.h"

namespace tercel::kernels {

Isa isaOfThisMachine() { return Isa::baseline; }  // NEON's vectors
void useVectorsOf(int) {}

}  // namespace tercel::kernels
