// Kernel steps that follow each other and need nothing of each other: all the updates of an
// optimizer, the gradients of several weights.
#pragma once
#include <cstddef>
#include <vector>

#include "program/program.h"

namespace tercel::engine {

struct Stretch {
  size_t begin = 0, end = 0;  // steps
  int64_t grain = 1;          // steps that are worth another thread
};

// Whether the calling thread runs all tasks of the step.
bool isSerialKernel(const program::Step& step);
// The stretches of a sequence whose steps may run in any order and at the same time, and are worth
// it. They do not overlap, and hold serial kernels only.
std::vector<Stretch> findStretches(const program::Program& program,
                                   const program::Sequence& sequence);

}  // namespace tercel::engine
