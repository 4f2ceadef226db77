#include "pjrt/element_type.h"

#include <array>

namespace tercel::pjrt {

PJRT_Buffer_Type wrap(DType dtype) {
  switch (dtype) {
    case DType::pred:
      return PJRT_Buffer_Type_PRED;
    case DType::s8:
      return PJRT_Buffer_Type_S8;
    case DType::s16:
      return PJRT_Buffer_Type_S16;
    case DType::s32:
      return PJRT_Buffer_Type_S32;
    case DType::s64:
      return PJRT_Buffer_Type_S64;
    case DType::u8:
      return PJRT_Buffer_Type_U8;
    case DType::u16:
      return PJRT_Buffer_Type_U16;
    case DType::u32:
      return PJRT_Buffer_Type_U32;
    case DType::u64:
      return PJRT_Buffer_Type_U64;
    case DType::f16:
      return PJRT_Buffer_Type_F16;
    case DType::bf16:
      return PJRT_Buffer_Type_BF16;
    case DType::f32:
      return PJRT_Buffer_Type_F32;
    case DType::f64:
      return PJRT_Buffer_Type_F64;
    case DType::c64:
      return PJRT_Buffer_Type_C64;
    case DType::c128:
      return PJRT_Buffer_Type_C128;
    case DType::s2:
      return PJRT_Buffer_Type_S2;
    case DType::s4:
      return PJRT_Buffer_Type_S4;
    case DType::u2:
      return PJRT_Buffer_Type_U2;
    case DType::u4:
      return PJRT_Buffer_Type_U4;
    case DType::f4e2m1fn:
      return PJRT_Buffer_Type_F4E2M1FN;
    case DType::f6e2m3fn:
      return PJRT_Buffer_Type_F6E2M3FN;
    case DType::f6e3m2fn:
      return PJRT_Buffer_Type_F6E3M2FN;
    case DType::f8e3m4:
      return PJRT_Buffer_Type_F8E3M4;
    case DType::f8e4m3:
      return PJRT_Buffer_Type_F8E4M3;
    case DType::f8e4m3b11fnuz:
      return PJRT_Buffer_Type_F8E4M3B11FNUZ;
    case DType::f8e4m3fn:
      return PJRT_Buffer_Type_F8E4M3FN;
    case DType::f8e4m3fnuz:
      return PJRT_Buffer_Type_F8E4M3FNUZ;
    case DType::f8e5m2:
      return PJRT_Buffer_Type_F8E5M2;
    case DType::f8e5m2fnuz:
      return PJRT_Buffer_Type_F8E5M2FNUZ;
    case DType::f8e8m0fnu:
      return PJRT_Buffer_Type_F8E8M0FNU;
  }
  return PJRT_Buffer_Type_INVALID;
}

Result<DType> unwrap(PJRT_Buffer_Type type) {
  // In the order of PJRT_Buffer_Type.
  static constexpr auto kNames = std::to_array<std::string_view>(
      {"INVALID",    "PRED",   "S8",       "S16",           "S32",
       "S64",        "U8",     "U16",      "U32",           "U64",
       "F16",        "F32",    "F64",      "BF16",          "C64",
       "C128",       "F8E5M2", "F8E4M3FN", "F8E4M3B11FNUZ", "F8E5M2FNUZ",
       "F8E4M3FNUZ", "S4",     "U4",       "TOKEN",         "S2",
       "U2",         "F8E4M3", "F8E3M4",   "F8E8M0FNU",     "F4E2M1FN",
       "S1",         "U1",     "F6E2M3FN", "F6E3M2FN"});
  for (size_t i = 0; i < kDTypeCount; ++i) {
    const auto dtype = static_cast<DType>(i);
    if (wrap(dtype) == type) return dtype;
  }
  if (type <= PJRT_Buffer_Type_INVALID || type >= static_cast<int>(kNames.size())) {
    return invalidArgument("there is no element type number ", static_cast<int>(type));
  }
  return unimplemented("element type ", kNames[static_cast<size_t>(type)],
                       " is not supported by Tercel");
}

Result<Shape> unwrapShape(PJRT_Buffer_Type type, const int64_t* dims, size_t num_dims) {
  if (!dims && num_dims != 0) return invalidArgument("dims is null");
  TERCEL_ASSIGN(const DType dtype, unwrap(type));
  return Shape{dtype, Dims(dims, dims + num_dims)};
}

}  // namespace tercel::pjrt
