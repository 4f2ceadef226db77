// rng_bit_generator: the counter-based generators of Salmon et al., "Parallel random numbers: as
// easy as 1, 2, 3" (2011), with XLA:CPU's layouts of state and results.
#pragma once
#include <array>

#include "compiler/eval/evaluation.h"

namespace tercel::eval {

Result<Literals> evalRngBitGenerator(Evaluation& evaluation, const Op& op, Operands operands);

std::array<uint32_t, 2> threeFry2x32(std::array<uint32_t, 2> counter, std::array<uint32_t, 2> key);
std::array<uint32_t, 4> philox4x32(std::array<uint32_t, 4> counter, std::array<uint32_t, 2> key);

}  // namespace tercel::eval
