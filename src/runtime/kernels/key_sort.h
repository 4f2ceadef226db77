// Sorting by keys whose order is known: a radix sort in place of calls of a comparator.
#pragma once
#include <span>

#include "core/status.h"
#include "core/sort_keys.h"
#include "runtime/kernels/parallel.h"
#include "runtime/kernels/sort.h"

namespace tercel::kernels {

// As sort() with a comparator that does what `keys` say, and the same results.
Status keySort(const Sort& sort, std::span<const SortKey> keys, const Parallel& parallel);

}  // namespace tercel::kernels
