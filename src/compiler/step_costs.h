// What the steps of a program cost, which decides how they are divided among threads.
#pragma once
#include <span>

#include "compiler/kernel_cache.h"
#include "program/program.h"

namespace tercel::compiler {

// Fills in the steps' tasks, costs and grains, and the program's cost, from those of its kernels.
void completeSteps(program::Program& program, std::span<const SharedKernel> kernels);

}  // namespace tercel::compiler
