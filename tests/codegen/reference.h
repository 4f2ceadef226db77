// What each pure instruction means, on the bits of its scalars.
#pragma once
#include <cstdint>
#include <span>

#include "compiler/kernel/kernel.h"

namespace tercel::codegen {

uint64_t reference(kernel::Opcode op, int64_t imm, kernel::Scalar from, kernel::Scalar to,
                   std::span<const uint64_t> operands);
bool isNan(uint64_t bits, kernel::Scalar s);

}  // namespace tercel::codegen
