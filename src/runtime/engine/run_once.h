// A program without arguments, run for its results alone.
#pragma once
#include <cstddef>
#include <vector>

#include "core/status.h"
#include "program/program.h"

namespace tercel::engine {

// The bytes of each result. Runs on the calling thread. FAILED_PRECONDITION for code of another CPU.
Result<std::vector<std::vector<std::byte>>> runOnce(program::Program program);

}  // namespace tercel::engine
