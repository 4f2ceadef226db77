// PJRT's element types as ours.
#pragma once
#include "core/dtype.h"
#include "core/shape.h"
#include "core/status.h"
#include "pjrt/abi/shape.h"

namespace tercel::pjrt {

PJRT_Buffer_Type wrap(DType dtype);
// UNIMPLEMENTED naming the type where we do not have it, INVALID_ARGUMENT where nobody has.
Result<DType> unwrap(PJRT_Buffer_Type type);
Result<Shape> unwrapShape(PJRT_Buffer_Type type, const int64_t* dims, size_t num_dims);

}  // namespace tercel::pjrt
