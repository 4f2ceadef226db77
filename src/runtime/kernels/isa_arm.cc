#include "runtime/kernels/isa.h"

namespace tercel::kernels {

// NEON's vectors.
Isa isaOfThisMachine() { return Isa::baseline; }
Isa isaOf(std::string_view) { return Isa::baseline; }
Isa chosenIsa() { return Isa::baseline; }
IsaScope::IsaScope(Isa isa) : before_(isa) {}
IsaScope::~IsaScope() = default;

}  // namespace tercel::kernels
