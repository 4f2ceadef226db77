// Memory layouts: ours are dense and row-major.
#pragma once
#include <string>

#include "core/shape.h"
#include "core/status.h"
#include "pjrt/abi/shape.h"

namespace tercel::pjrt {

// [rank-1, ..., 1, 0].
Dims rowMajorOrder(size_t rank);
// As XLA writes it: "{1,0}".
std::string rowMajorText(size_t rank);
// OK for null and for what is dense row-major; else UNIMPLEMENTED, or INVALID_ARGUMENT where it
// makes no sense for the shape.
Status checkRowMajor(const PJRT_Buffer_MemoryLayout* layout, const Shape& shape);

}  // namespace tercel::pjrt
