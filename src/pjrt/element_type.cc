#include "pjrt/element_type.h"

namespace tercel::pjrt {

PJRT_Buffer_Type wrap(DType dtype) {
  switch (dtype) {
#define ELEMENT_TYPE(name, ours) \
  case DType::ours: return PJRT_Buffer_Type_##name;
#include "pjrt/element_types.def"
  }
  return PJRT_Buffer_Type_INVALID;
}

Result<DType> unwrap(PJRT_Buffer_Type type) {
  switch (type) {
    case PJRT_Buffer_Type_INVALID: break;
#define ELEMENT_TYPE(name, ours) \
  case PJRT_Buffer_Type_##name: return DType::ours;
#define OTHER_TYPE(name)         \
  case PJRT_Buffer_Type_##name:  \
    return unimplemented("element type " #name " is not supported by Tercel");
#include "pjrt/element_types.def"
  }
  return invalidArgument("there is no element type number ", static_cast<int>(type));
}

Result<Shape> unwrapShape(PJRT_Buffer_Type type, const int64_t* dims, size_t num_dims) {
  if (!dims && num_dims != 0) return invalidArgument("dims is null");
  TERCEL_ASSIGN(const DType dtype, unwrap(type));
  return Shape{dtype, Dims(dims, dims + num_dims)};
}

}  // namespace tercel::pjrt
