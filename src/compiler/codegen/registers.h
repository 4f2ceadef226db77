// Small scratch buffers that are read and written at known places only: LLVM's selection has them in
// registers.
#pragma once
#include <vector>

#include "compiler/kernel/kernel.h"

namespace tercel::codegen {

std::vector<bool> findVariables(const kernel::Kernel& kernel);  // by buffer

}  // namespace tercel::codegen
