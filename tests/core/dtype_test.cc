#include "core/dtype.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

namespace tercel {
namespace {

// A 16-bit float by its definition: sign, exponent and fraction, valued exactly as a double.
struct Format {
  int exponent_bits;
  int fraction_bits;
  int bias() const { return (1 << (exponent_bits - 1)) - 1; }
  uint16_t infinity() const {
    return static_cast<uint16_t>(((1 << exponent_bits) - 1) << fraction_bits);
  }
  // Of a non-negative finite pattern; infinity reads as the next power of two, which is where
  // rounding to nearest overflows to it.
  double value(uint16_t bits) const {
    int exponent = bits >> fraction_bits, fraction = bits & ((1 << fraction_bits) - 1);
    if (exponent == 0) return std::ldexp(fraction, 1 - bias() - fraction_bits);
    return std::ldexp(fraction + (1 << fraction_bits), exponent - bias() - fraction_bits);
  }
};
constexpr Format kHalf{5, 10};
constexpr Format kBFloat16{8, 7};

// Nearest pattern to a non-negative number, ties to even, by search among all patterns.
uint16_t nearest(const Format& format, double x) {
  uint16_t low = 0, high = format.infinity();
  if (x >= format.value(high)) return high;
  while (high - low > 1) {
    uint16_t middle = static_cast<uint16_t>((low + high) / 2);
    (format.value(middle) <= x ? low : high) = middle;
  }
  double below = x - format.value(low), above = format.value(high) - x;
  if (below != above) return below < above ? low : high;
  return low % 2 == 0 ? low : high;
}

template <class Check>
void forInteresting(const Format& format, Check check) {
  // Each pattern, each midpoint of two, and their neighbours among doubles and floats.
  for (uint16_t bits = 0; bits < format.infinity(); ++bits) {
    double value = format.value(bits);
    double middle = value + (format.value(static_cast<uint16_t>(bits + 1)) - value) / 2;
    for (double x : {value, middle}) {
      check(x);
      check(std::nextafter(x, HUGE_VAL));
      check(std::nextafter(x, 0.0));
      check(static_cast<double>(std::nextafterf(static_cast<float>(x), HUGE_VALF)));
      check(static_cast<double>(std::nextafterf(static_cast<float>(x), 0.0f)));
    }
  }
}

TEST(Half, EveryPatternHasItsValue) {
  for (uint32_t bits = 0; bits < kHalf.infinity(); ++bits) {
    EXPECT_EQ(halfToFloat(static_cast<uint16_t>(bits)), kHalf.value(static_cast<uint16_t>(bits)));
    EXPECT_EQ(halfToFloat(static_cast<uint16_t>(bits | 0x8000u)),
              -kHalf.value(static_cast<uint16_t>(bits)));
  }
  EXPECT_EQ(halfToFloat(0x7c00), HUGE_VALF);
  EXPECT_EQ(halfToFloat(0xfc00), -HUGE_VALF);
  EXPECT_TRUE(std::signbit(halfToFloat(0x8000)));
}

TEST(Half, EveryPatternRoundTrips) {
  for (uint32_t bits = 0; bits <= 0xffff; ++bits) {
    uint16_t half = static_cast<uint16_t>(bits);
    bool is_signalling = (half & 0x7fff) > 0x7c00 && !(half & 0x200);
    EXPECT_EQ(floatToHalf(halfToFloat(half)), is_signalling ? half | 0x200 : half);
  }
}

TEST(Half, FloatAndDoubleRoundToNearestEven) {
  int wrong = 0;
  forInteresting(kHalf, [&](double x) {
    uint16_t expected = nearest(kHalf, x);
    wrong += doubleToHalf(x) != expected;
    wrong += doubleToHalf(-x) != (expected | 0x8000);
    float f = static_cast<float>(x);
    wrong += floatToHalf(f) != nearest(kHalf, f);
    wrong += floatToHalf(-f) != (nearest(kHalf, f) | 0x8000);
  });
  EXPECT_EQ(wrong, 0);
}

TEST(BFloat16, EveryPatternHasItsValue) {
  for (uint32_t bits = 0; bits < kBFloat16.infinity(); ++bits) {
    BFloat16 value;
    value.bits = static_cast<uint16_t>(bits);
    EXPECT_EQ(static_cast<float>(value), kBFloat16.value(value.bits));
  }
}

TEST(BFloat16, EveryPatternRoundTrips) {
  for (uint32_t bits = 0; bits <= 0xffff; ++bits) {
    BFloat16 value;
    value.bits = static_cast<uint16_t>(bits);
    bool is_nan = (bits & 0x7fff) > 0x7f80;
    EXPECT_EQ(floatToBFloat16(static_cast<float>(value)), is_nan ? bits | 0x40 : bits);
  }
}

TEST(BFloat16, FloatAndDoubleRoundToNearestEven) {
  int wrong = 0;
  forInteresting(kBFloat16, [&](double x) {
    uint16_t expected = nearest(kBFloat16, x);
    wrong += doubleToBFloat16(x) != expected;
    wrong += doubleToBFloat16(-x) != (expected | 0x8000);
    float f = static_cast<float>(x);
    if (std::isinf(f)) return;
    wrong += floatToBFloat16(f) != nearest(kBFloat16, f);
  });
  EXPECT_EQ(wrong, 0);
}

TEST(Float16, RandomDoublesRoundToNearestEven) {
  std::mt19937_64 random(11);
  int wrong = 0;
  for (int i = 0; i < 200000; ++i) {
    // Exponents around both formats' ranges, all fractions.
    uint64_t exponent = 1023 - 160 + random() % 300;
    double x = std::bit_cast<double>(exponent << 52 | (random() >> 12));
    wrong += doubleToHalf(x) != nearest(kHalf, x);
    wrong += doubleToBFloat16(x) != nearest(kBFloat16, x);
  }
  EXPECT_EQ(wrong, 0);
}

TEST(Float16, InfinitiesNansAndTinyNumbers) {
  for (double sign : {1.0, -1.0}) {
    uint16_t bit = sign < 0 ? 0x8000 : 0;
    EXPECT_EQ(doubleToHalf(sign * HUGE_VAL), 0x7c00 | bit);
    EXPECT_EQ(doubleToBFloat16(sign * HUGE_VAL), 0x7f80 | bit);
    EXPECT_EQ(doubleToHalf(sign * 1e300), 0x7c00 | bit);
    EXPECT_EQ(doubleToBFloat16(sign * 1e300), 0x7f80 | bit);
    EXPECT_EQ(doubleToHalf(sign * 5e-324), bit);
    EXPECT_EQ(doubleToBFloat16(sign * 5e-324), bit);
  }
  double nan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_GT(doubleToHalf(nan) & 0x7fff, 0x7c00);
  EXPECT_GT(doubleToBFloat16(nan) & 0x7fff, 0x7f80);
  EXPECT_GT(floatToHalf(static_cast<float>(nan)) & 0x7fff, 0x7c00);
  // A NaN whose payload is in the dropped bits alone stays a NaN.
  EXPECT_GT(floatToHalf(std::bit_cast<float>(0x7f800001u)) & 0x7fff, 0x7c00);
  EXPECT_GT(floatToBFloat16(std::bit_cast<float>(0x7f800001u)) & 0x7fff, 0x7f80);
}

TEST(DType, EveryRowIsConsistent) {
  std::vector<std::string_view> names;
  for (size_t i = 0; i < kDTypeCount; ++i) {
    DType dtype = static_cast<DType>(i);
    EXPECT_EQ(dtypeFromName(dtypeName(dtype)), dtype);
    EXPECT_EQ(std::ranges::count(names, dtypeName(dtype)), 0);
    names.push_back(dtypeName(dtype));
    visitDType(dtype, [&]<class T>() {
      EXPECT_EQ(sizeof(T), byteSize(dtype));
      EXPECT_EQ(DTypeOf<T>::value, storageType(dtype));
    });
    EXPECT_EQ(isSmall(dtype), storageType(dtype) != dtype);
    const int bits = static_cast<int>(8 * byteSize(dtype));
    EXPECT_TRUE(isSmall(dtype) ? bitWidth(dtype) <= 8 : bitWidth(dtype) == bits);
    EXPECT_EQ(isPred(dtype) + isInteger(dtype) + isFloat(dtype) + isComplex(dtype), 1);
  }
  EXPECT_EQ(dtypeFromName("f31"), std::nullopt);
  EXPECT_EQ(realPart(DType::c128), DType::f64);
  EXPECT_EQ(realPart(DType::s8), DType::s8);
}

}  // namespace
}  // namespace tercel
