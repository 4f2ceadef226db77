// Operands of a product that hold subnormal numbers. A multiply-add of one takes microcode, some
// hundred cycles, on x86.
#pragma once
#include <cstdint>

#include "runtime/kernels/kept_memory.h"
#include "runtime/kernels/parallel.h"

namespace tercel::kernels {

struct Rescaled {
  KeptMemory<float> a, b;
  double sums = 1;  // what sums of products are to be multiplied by
};

// Copies two arrays, one multiplied by a power of two, the other divided by it. Both are exact, so
// an element of one times an element of the other stays the number it was, and so does every bit of
// a sum of such products. Where `sums` allows it both are multiplied, since sums of tiny products
// are subnormal, too. False where neither array has many subnormal numbers, an element
// is too near to an end of the range, or memory is short.
bool rescale(const float* a, int64_t a_count, const float* b, int64_t b_count, bool sums,
             Rescaled& copies, const Parallel& parallel);

// Multiplies each element by `factor`; rounded once.
void scaleSums(float* x, int64_t count, double factor, const Parallel& parallel);

}  // namespace tercel::kernels
