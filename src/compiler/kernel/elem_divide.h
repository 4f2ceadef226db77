// Division of floats.
#pragma once
#include "compiler/kernel/builder.h"

namespace tercel::kernel {

// x / y, rounded once.
V divideFloats(Builder& b, V x, V y);

}  // namespace tercel::kernel
