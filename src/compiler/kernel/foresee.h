// Places that are nearly always inside: loops need not wait for their limits.
#pragma once
#include "compiler/kernel/kernel.h"

namespace tercel::kernel {

// In while loops an address made of a number from memory, say, that is wrapped and clamped becomes a
// branch, which the machine foresees, around the wrapping and clamping of what lies outside.
void foreseePlaces(Kernel& kernel);

}  // namespace tercel::kernel
