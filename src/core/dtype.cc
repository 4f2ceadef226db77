#include "core/dtype.h"

#include <cmath>

namespace tercel {
namespace {

struct Row {
  std::string_view name;
  int bits;
  DTypeClass cls;
  size_t bytes;
  bool is_small;
};

constexpr Row kRows[] = {
#define DTYPE(id, name, bits, cls, type) {name, bits, DTypeClass::cls, sizeof(type), false},
#define SMALL_DTYPE(id, name, bits, cls, type) {name, bits, DTypeClass::cls, sizeof(type), true},
#include "core/dtypes.def"
};

constexpr const Row& rowOf(DType dtype) { return kRows[static_cast<size_t>(dtype)]; }

// Rounding a double through float twice would round twice; rounding the first step to odd
// keeps the second one exact (Boldo and Melquiond, "When double rounding is odd").
float toFloatRoundToOdd(double value) {
  float nearest = static_cast<float>(value);
  if (std::isnan(value) || static_cast<double>(nearest) == value) return nearest;
  if (std::isinf(nearest)) return nearest;
  uint32_t bits = std::bit_cast<uint32_t>(nearest);
  bool rounded_away = std::fabs(static_cast<double>(nearest)) > std::fabs(value);
  if (rounded_away) bits -= 1;
  return std::bit_cast<float>(bits | 1u);
}

}  // namespace

std::string_view dtypeName(DType dtype) { return rowOf(dtype).name; }
DTypeClass dtypeClass(DType dtype) { return rowOf(dtype).cls; }
size_t byteSize(DType dtype) { return rowOf(dtype).bytes; }
int bitWidth(DType dtype) { return rowOf(dtype).bits; }
bool isSmall(DType dtype) { return rowOf(dtype).is_small; }

DType storageType(DType dtype) {
  if (!isSmall(dtype)) return dtype;
  return isSigned(dtype) ? DType::s8 : DType::u8;
}

std::optional<DType> dtypeFromName(std::string_view name) {
  for (size_t i = 0; i < kDTypeCount; ++i)
    if (kRows[i].name == name) return static_cast<DType>(i);
  return std::nullopt;
}

float halfToFloat(uint16_t h) {
  uint32_t sign = uint32_t{h & 0x8000u} << 16;
  uint32_t magnitude = h & 0x7fffu;
  if (magnitude >= 0x7c00u)
    return std::bit_cast<float>(sign | 0x7f800000u | ((magnitude & 0x3ffu) << 13));
  // Scaling by 2^112 moves the exponent bias from 15 to 127, subnormals included.
  float scaled = std::bit_cast<float>(magnitude << 13) * 0x1p112f;
  return std::bit_cast<float>(sign | std::bit_cast<uint32_t>(scaled));
}

uint16_t floatToHalf(float value) {
  uint32_t bits = std::bit_cast<uint32_t>(value);
  uint16_t sign = static_cast<uint16_t>((bits >> 16) & 0x8000u);
  bits &= 0x7fffffffu;
  if (bits > 0x7f800000u) return sign | 0x7e00u | static_cast<uint16_t>((bits >> 13) & 0x3ffu);
  if (bits >= 0x47800000u) return sign | 0x7c00u;
  if (bits < 0x38800000u) {  // subnormal: adding 0.5 aligns the last kept bit with the units
    float aligned = std::bit_cast<float>(bits) + 0.5f;
    return sign | static_cast<uint16_t>(std::bit_cast<uint32_t>(aligned) - 0x3f000000u);
  }
  uint32_t odd = (bits >> 13) & 1u;
  return sign | static_cast<uint16_t>((bits - 0x38000000u + 0xfffu + odd) >> 13);
}

uint16_t floatToBFloat16(float value) {
  uint32_t bits = std::bit_cast<uint32_t>(value);
  if ((bits & 0x7fffffffu) > 0x7f800000u) return static_cast<uint16_t>((bits >> 16) | 0x40u);
  return static_cast<uint16_t>((bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16);
}

uint16_t doubleToHalf(double value) { return floatToHalf(toFloatRoundToOdd(value)); }
uint16_t doubleToBFloat16(double value) { return floatToBFloat16(toFloatRoundToOdd(value)); }

}  // namespace tercel
