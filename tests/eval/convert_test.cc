// Facts of XLA:CPU (jaxlib 0.10.2), except where a test says otherwise.
#include <gtest/gtest.h>

#include "program.h"

namespace tercel::eval {
namespace {

TEST(Convert, FloatToIntegerSaturatesAndNaNIsZero) {
  std::string x =
      "f32[12] (nan, inf, -inf, 300.7, -300.7, 1e10, -1e20, -0.5, 0.9, -1.5, 128, -129)";
  expectOp("convert(%0) : s8[12]", {x},
           {"s8[12] (0, 127, -128, 127, -128, 127, -128, 0, 0, -1, 127, -128)"});
  expectOp("convert(%0) : u8[12]", {x}, {"u8[12] (0, 255, 0, 255, 0, 255, 0, 0, 0, 0, 128, 0)"});
  expectOp("convert(%0) : s32[12]", {x},
           {"s32[12] (0, 2147483647, -2147483648, 300, -300, 2147483647, -2147483648, 0, 0, -1, "
            "128, -129)"});
  expectOp("convert(%0) : u32[12]", {x},
           {"u32[12] (0, 4294967295, 0, 300, 0, 4294967295, 0, 0, 0, 0, 128, 0)"});
  expectOp("convert(%0) : s64[12]", {x},
           {"s64[12] (0, 9223372036854775807, -9223372036854775808, 300, -300, 10000000000, "
            "-9223372036854775808, 0, 0, -1, 128, -129)"});
  expectOp("convert(%0) : u64[12]", {x},
           {"u64[12] (0, 18446744073709551615, 0, 300, 0, 10000000000, 0, 0, 0, 0, 128, 0)"});
  expectOp("convert(%0) : u32[2]", {"f16[2] (inf, 65504)"}, {"u32[2] (4294967295, 65504)"});
}

TEST(Convert, ToPredIsNotZero) {
  expectOp("convert(%0) : pred[5]", {"f32[5] (nan, -0, 0, 0.5, -inf)"},
           {"pred[5] (true, false, false, true, true)"});
  expectOp("convert(%0) : pred[3]", {"s32[3] (256, 0, -1)"}, {"pred[3] (true, false, true)"});
  expectOp("convert(%0) : bf16[2]", {"pred[2] (true, false)"}, {"bf16[2] (1, 0)"});
}

TEST(Convert, ComplexToRealTakesTheRealPart) {
  expectOp("convert(%0) : pred[4]", {"c64[4] ((1, 2), (0, 1), (0, -0), (nan, 0))"},
           {"pred[4] (true, true, false, true)"});
  expectOp("convert(%0) : s32[2]", {"c128[2] ((1.75, 2), (0, 1))"}, {"s32[2] (1, 0)"});
  expectOp("convert(%0) : c64[2]", {"f64[2] (1.5, -0)"}, {"c64[2] ((1.5, 0), (-0, 0))"});
}

TEST(Convert, IntegersWrap) {
  expectOp("convert(%0) : s8[3]", {"s32[3] (128, -129, 511)"}, {"s8[3] (-128, 127, -1)"});
  expectOp("convert(%0) : u64[1]", {"s8[1] (-1)"}, {"u64[1] (18446744073709551615)"});
}

TEST(Convert, RoundsToNearestEven) {
  expectOp("convert(%0) : f32[3]", {"s64[3] (16777217, 16777219, 9223372036854775807)"},
           {"f32[3] (16777216, 16777220, 9223372036854775808)"});
  expectOp("convert(%0) : f16[4]", {"s64[4] (65519, 65520, -2049, 2051)"},
           {"f16[4] (65504, inf, -2048, 2052)"});
  expectOp("convert(%0) : bf16[2]", {"f32[2] (1.00390625, 1.01171875)"}, {"bf16[2] (1, 1.015625)"});
}

// XLA:CPU goes through f32 and rounds twice: 1 for the first, 2^62 for the last.
TEST(Convert, RoundsOnce) {
  expectOp("convert(%0) : bf16[2]", {"f64[2] (1.003906250001, 1.00390625)"},
           {"bf16[2] (1.0078125, 1)"});
  expectOp("convert(%0) : f16[1]", {"f64[1] (1.00048828126)"}, {"f16[1] (1.0009765625)"});
  // 2^62 + 2^54 is a tie of bf16; one more is above it.
  expectOp("convert(%0) : bf16[2]", {"s64[2] (4629700416936869888, 4629700416936869889)"},
           {"bf16[2] (4611686018427387904, 4647714815446351872)"});
}

TEST(ReducePrecision, RoundsThenLeavesTheRange) {
  expectOp("reduce_precision(%0) {exponent_bits = 5, mantissa_bits = 3} : f32[9]",
           {"f32[9] (1.2345, 1e-30, 1e30, nan, -1e-40, 65520, 6.1e-5, 5e-5, -1e-6)"},
           {"f32[9] (1.25, 0, inf, nan, -0, inf, 6.1035156e-05, 0, -0)"});
  expectOp("reduce_precision(%0) {exponent_bits = 1, mantissa_bits = 2} : f32[5]",
           {"f32[5] (1, 1.5, 2, 0.5, inf)"}, {"f32[5] (0, 0, inf, 0, inf)"});
  expectOp("reduce_precision(%0) {exponent_bits = 2, mantissa_bits = 0} : f64[4]",
           {"f64[4] (1.4, 1.5, -2.5, nan)"}, {"f64[4] (1, 2, -2, nan)"});
  expectOp("reduce_precision(%0) {exponent_bits = 8, mantissa_bits = 7} : f32[3]",
           {"f32[3] (1.00390625, 1.01171875, -inf)"}, {"f32[3] (1, 1.015625, -inf)"});
  expectOp("reduce_precision(%0) {exponent_bits = 11, mantissa_bits = 52} : f16[2]",
           {"f16[2] (0.1, 6e-8)"}, {"f16[2] (0.1, 6e-8)"});
}

TEST(BitcastConvert, ChangesTheWidth) {
  expectOp("bitcast_convert(%0) : u8[2,4]", {"f32[2] (1, -2)"},
           {"u8[2,4] (0, 0, 128, 63, 0, 0, 0, 192)"});
  expectOp("bitcast_convert(%0) : s32[]", {"u16[2] (1, 32768)"}, {"s32[] (-2147483647)"});
  expectOp("bitcast_convert(%0) : s32[1]", {"f32[1] (nan:0x7fc00001)"}, {"s32[1] (2143289345)"});
}

TEST(Compare, NaNIsUnordered) {
  Texts args = {"f32[4] (nan, 1, -0, 2)", "f32[4] (nan, nan, 0, 1)"};
  auto compare = [](std::string_view direction) {
    return cat("compare(%0, %1) {comparison_direction = ", direction, "} : pred[4]");
  };
  expectOp(compare("EQ"), args, {"pred[4] (false, false, true, false)"});
  expectOp(compare("NE"), args, {"pred[4] (true, true, false, true)"});
  expectOp(compare("GE"), args, {"pred[4] (false, false, true, true)"});
  expectOp(compare("LT"), args, {"pred[4] (false, false, false, false)"});
}

TEST(Compare, TotalOrder) {
  for (const char* dtype : {"f16", "bf16", "f32", "f64"}) {
    std::string smaller = cat(dtype, "[5] (-inf, -1, -0, inf, 1)");
    std::string larger = cat(dtype, "[5] (-1, -0, 0, nan, 1)");
    auto compare = [](std::string_view direction) {
      return cat("compare(%0, %1) {comparison_direction = ", direction,
                 ", compare_type = TOTALORDER} : pred[5]");
    };
    expectOp(compare("LT"), {smaller, larger}, {"pred[5] (true, true, true, true, false)"});
    expectOp(compare("GE"), {smaller, larger}, {"pred[5] (false, false, false, false, true)"});
  }
}

TEST(Compare, IntegersBySign) {
  expectOp("compare(%0, %1) {comparison_direction = GT} : pred[2]",
           {"u8[2] (200, 1)", "u8[2] (1, 1)"}, {"pred[2] (true, false)"});
  expectOp("compare(%0, %1) {comparison_direction = GT} : pred[1]", {"s8[1] (-56)", "s8[1] (1)"},
           {"pred[1] (false)"});
  expectOp("compare(%0, %1) {comparison_direction = NE} : pred[2]",
           {"c64[2] ((1, 2), (1, 2))", "c64[2] ((1, 2), (1, 3))"}, {"pred[2] (false, true)"});
}

}  // namespace
}  // namespace tercel::eval
