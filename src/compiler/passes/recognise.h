// Functions known by what JAX makes of them.
#pragma once
#include <string>

#include "compiler/ir/module.h"

namespace tercel::passes {

// The row of expansions.def, but for the function's name, that stands for the body of `main`; "" where
// that is no row of elementwise ops that read one value and constants.
std::string expansionRow(const ir::Module& module);

}  // namespace tercel::passes
