// Sorting along the middle one of three dimensions, by a compiled comparator.
#pragma once
#include <cstdint>
#include <span>

#include "core/status.h"
#include "runtime/kernels/parallel.h"

namespace tercel::kernels {

// A kernel whose params are the operands' rows: compares elements a and b of them and writes 1 to
// scratch[0] where a goes before b, 0 where not.
using Comparator = void (*)(void* const* params, int64_t a, int64_t b, void* scratch);

struct Sort {
  Comparator compare = nullptr;
  int64_t scratch_bytes = 1;  // that the comparator needs, scratch[0] included
  int64_t outer = 1, length = 0, inner = 1;
  int64_t kept = 0;  // elements from the front of each row that matter; what follows is undefined
  std::span<const int64_t> element_bytes;  // of each operand: 1, 2, 4, 8 or 16
  void* const* operands = nullptr;         // row-major [outer, length, inner]
  void* const* results = nullptr;          // likewise; may be the operands' own memory
};

// Always stable. A comparator that is no strict weak order gives some order, the same one whatever
// the number of threads. RESOURCE_EXHAUSTED where there is no memory for the permutation.
Status sort(const Sort& sort, const Parallel& parallel);

}  // namespace tercel::kernels
