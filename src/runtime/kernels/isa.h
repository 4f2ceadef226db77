// The instruction sets that some kernels are compiled for, of which the machine's best is run.
#pragma once
#include <cstdint>

namespace tercel::kernels {

enum class Isa : uint8_t { baseline, avx2, avx512 };

Isa isaOfThisMachine();
// Takes the machine for one with vectors of at most so many bytes; for the process.
void useVectorsOf(int bytes);

constexpr int vectorBytes(Isa isa) { return 16 << static_cast<int>(isa); }

}  // namespace tercel::kernels
