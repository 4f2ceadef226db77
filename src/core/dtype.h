// Element types and the two 16-bit floats that C++20 lacks.
#pragma once
#include <bit>
#include <complex>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace tercel {

float halfToFloat(uint16_t bits);
uint16_t floatToHalf(float value);  // round to nearest even
uint16_t doubleToHalf(double value);
uint16_t floatToBFloat16(float value);
uint16_t doubleToBFloat16(double value);

struct Half {
  uint16_t bits = 0;
  Half() = default;
  explicit Half(float v) : bits(floatToHalf(v)) {}
  explicit Half(double v) : bits(doubleToHalf(v)) {}
  explicit operator float() const { return halfToFloat(bits); }
};

struct BFloat16 {
  uint16_t bits = 0;
  BFloat16() = default;
  explicit BFloat16(float v) : bits(floatToBFloat16(v)) {}
  explicit BFloat16(double v) : bits(doubleToBFloat16(v)) {}
  explicit operator float() const { return std::bit_cast<float>(uint32_t{bits} << 16); }
};

enum class DTypeClass : uint8_t { boolean, signed_int, unsigned_int, floating, complex };

enum class DType : uint8_t {
#define DTYPE(id, name, bits, cls, type) id,
#include "core/dtypes.def"
};

inline constexpr size_t kDTypeCount = 0
#define DTYPE(id, name, bits, cls, type) +1
#include "core/dtypes.def"
    ;

std::string_view dtypeName(DType dtype);
std::optional<DType> dtypeFromName(std::string_view name);
DTypeClass dtypeClass(DType dtype);
size_t byteSize(DType dtype);  // in memory
int bitWidth(DType dtype);     // of what is known of a value: less than its bytes for small types
bool isSmall(DType dtype);     // a row of SMALL_DTYPE
// The type whose operations move a value of `dtype` as it is: of small ones s8 or u8.
DType storageType(DType dtype);

inline bool isPred(DType t) { return t == DType::pred; }
inline bool isSigned(DType t) { return dtypeClass(t) == DTypeClass::signed_int; }
inline bool isUnsigned(DType t) { return dtypeClass(t) == DTypeClass::unsigned_int; }
inline bool isInteger(DType t) { return isSigned(t) || isUnsigned(t); }
inline bool isFloat(DType t) { return dtypeClass(t) == DTypeClass::floating; }
inline bool isComplex(DType t) { return dtypeClass(t) == DTypeClass::complex; }
inline bool isHalfFloat(DType t) { return t == DType::f16 || t == DType::bf16; }
// That arithmetic on it is done in, which is rounded once.
inline DType computedType(DType t) { return isHalfFloat(t) ? DType::f32 : t; }
// The real type of a complex type's parts; any other type is returned unchanged.
inline DType realPart(DType t) {
  return t == DType::c64 ? DType::f32 : t == DType::c128 ? DType::f64 : t;
}

template <class T>
struct DTypeOf;
#define SMALL_DTYPE(id, name, bits, cls, type)
#define DTYPE(id, name, bits, cls, type) \
  template <>                            \
  struct DTypeOf<type> {                 \
    static constexpr DType value = DType::id; \
  };
#include "core/dtypes.def"

// Calls f.template operator()<StorageType>() for the storage type of `dtype`.
template <class F>
decltype(auto) visitDType(DType dtype, F&& f) {
  switch (dtype) {
#define DTYPE(id, name, bits, cls, type) \
  case DType::id:                        \
    return f.template operator()<type>();
#include "core/dtypes.def"
  }
  __builtin_unreachable();
}

}  // namespace tercel
