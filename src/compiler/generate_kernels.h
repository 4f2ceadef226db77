// Object code for a plan's kernels: from the process's cache, else generated on all cores.
#pragma once
#include "compiler/compile.h"
#include "compiler/plan/plan.h"

namespace tercel::compiler {

// Fills in the program's objects and kernels.
Status generateKernels(const ir::Module& module, plan::Plan& plan, const CompileOptions& options);

}  // namespace tercel::compiler
