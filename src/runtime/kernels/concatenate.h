// Rows of several arrays side by side.
#pragma once
#include <cstdint>
#include <vector>

#include "runtime/kernels/parallel.h"

namespace tercel::kernels {

struct Concatenation {
  int64_t rows = 0;
  std::vector<int64_t> bytes;  // of a row of each operand
  int64_t result_bytes = 0;    // of a row of the result: their sum
};

// Operands and result are dense and share no memory.
void concatenate(const Concatenation& shape, const void* const* operands, void* result,
                 const Parallel& parallel);

}  // namespace tercel::kernels
