// Everything that the engine takes for granted about a Program.
#pragma once
#include "core/status.h"
#include "program/program.h"

namespace tercel::program {

inline constexpr int kMaxSequenceDepth = 256;

// INVALID_ARGUMENT naming the first thing that is wrong: a number out of range, a slot outside its
// memory, a step that lacks what its kind needs, a sequence used twice.
Status validate(const Program& program);

}  // namespace tercel::program
