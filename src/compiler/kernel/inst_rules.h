// What types and immediates each instruction takes.
#pragma once
#include <string>

#include "compiler/kernel/kernel.h"

namespace tercel::kernel {

// What is wrong with an instruction that holds no blocks; empty: nothing. Its operands, results
// and buffer exist.
std::string checkInst(const Kernel& kernel, const Inst& inst);

}  // namespace tercel::kernel
