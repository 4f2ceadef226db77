// Memory layouts: dense, with an order of the dimensions.
#pragma once
#include "core/layout.h"
#include "core/status.h"
#include "pjrt/abi/shape.h"

namespace tercel::pjrt {

// Empty for null and where it is row-major. UNIMPLEMENTED for tiles and gaps, INVALID_ARGUMENT where
// it makes no sense for the shape.
Result<Dims> unwrap(const PJRT_Buffer_MemoryLayout* layout, const Shape& shape);
// The order as callers may keep it: `layout`'s own, or one that lives for good. Null for a rank that
// no array has.
const int64_t* orderOf(const Dims& layout, size_t rank);

}  // namespace tercel::pjrt
