// The numbers between which integers are, by what makes them.
#pragma once
#include <unordered_map>

#include "compiler/kernel/kernel.h"

namespace tercel::kernel {

// The low bits that a number of the type has, as a signed number and by themselves.
int64_t signExtend(uint64_t bits, Scalar s);
uint64_t truncateTo(uint64_t bits, Scalar s);

struct Bounds {
  int64_t least, most;  // inclusive, of the number as a signed one
};
using KnownBounds = std::unordered_map<uint32_t, Bounds>;  // by V: arguments of blocks

Bounds boundsOf(const Kernel& kernel, V v, const KnownBounds* known = nullptr, int depth = 4);

// Leaves out limits that what loops carry keeps to anyway: of counters, and of places that are kept
// inside of a table by a mask or a remainder.
void dropLimits(Kernel& kernel);

}  // namespace tercel::kernel
