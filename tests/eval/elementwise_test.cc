// Facts of StableHLO and XLA:CPU (jaxlib 0.10.2), except where a test says otherwise.
#include <gtest/gtest.h>

#include "program.h"

namespace tercel::eval {
namespace {

TEST(Integers, DivisionByZeroGivesAllOnesAndOverflowWraps) {
  expectOp("divide(%0, %1) : s32[8]",
           {"s32[8] (7, -7, 7, -7, 0, -2147483648, 5, -5)", "s32[8] (2, 2, -2, -2, 0, -1, 0, 0)"},
           {"s32[8] (3, -3, -3, 3, -1, -2147483648, -1, -1)"});
  expectOp("divide(%0, %1) : u8[3]", {"u8[3] (7, 0, 255)", "u8[3] (0, 0, 5)"},
           {"u8[3] (255, 255, 51)"});
  expectOp("divide(%0, %1) : s8[2]", {"s8[2] (-128, 100)", "s8[2] (-1, 0)"}, {"s8[2] (-128, -1)"});
  expectOp("divide(%0, %1) : s64[1]", {"s64[1] (-9223372036854775808)", "s64[1] (-1)"},
           {"s64[1] (-9223372036854775808)"});
}

TEST(Integers, RemainderHasTheDividendsSignAndOfZeroIsTheDividend) {
  expectOp("remainder(%0, %1) : s32[8]",
           {"s32[8] (7, -7, 7, -7, 0, -2147483648, 5, -5)", "s32[8] (2, 2, -2, -2, 0, -1, 0, 0)"},
           {"s32[8] (1, -1, 1, -1, 0, 0, 5, -5)"});
  expectOp("remainder(%0, %1) : u32[3]", {"u32[3] (7, 0, 4294967295)", "u32[3] (0, 0, 5)"},
           {"u32[3] (7, 0, 0)"});
}

TEST(Integers, ArithmeticWraps) {
  expectOp("add(%0, %1) : s8[2]", {"s8[2] (127, -128)", "s8[2] (1, -1)"}, {"s8[2] (-128, 127)"});
  expectOp("subtract(%0, %1) : u8[1]", {"u8[1] (0)", "u8[1] (1)"}, {"u8[1] (255)"});
  expectOp("multiply(%0, %1) : u16[1]", {"u16[1] (65535)", "u16[1] (65535)"}, {"u16[1] (1)"});
  expectOp("multiply(%0, %1) : s64[1]", {"s64[1] (9223372036854775807)", "s64[1] (2)"},
           {"s64[1] (-2)"});
  expectOp("negate(%0) : s32[2]", {"s32[2] (-2147483648, 5)"}, {"s32[2] (-2147483648, -5)"});
  expectOp("negate(%0) : u8[2]", {"u8[2] (1, 0)"}, {"u8[2] (255, 0)"});
  expectOp("abs(%0) : s8[3]", {"s8[3] (-128, -5, 5)"}, {"s8[3] (-128, 5, 5)"});
}

TEST(Integers, PowerOfNegativeExponentIsTheTruncatedQuotient) {
  expectOp("power(%0, %1) : s32[12]",
           {"s32[12] (0, 1, -1, 2, -2, 0, 1, -1, -1, 2, 3, 0)",
            "s32[12] (-1, -1, -1, -1, -3, 0, -5, -2, -3, 31, 40, -2)"},
           {"s32[12] (0, 1, -1, 0, 0, 1, 1, 1, -1, -2147483648, 689956897, 0)"});
  expectOp("power(%0, %1) : s8[2]", {"s8[2] (-1, -1)", "s8[2] (-128, -127)"}, {"s8[2] (1, -1)"});
}

// Modular exponentiation; XLA:CPU looks at the low six bits of the exponent only.
TEST(Integers, PowerUsesAllBitsOfTheExponent) {
  expectOp("power(%0, %1) : u8[2]", {"u8[2] (3, 211)", "u8[2] (255, 129)"}, {"u8[2] (171, 211)"});
}

TEST(Integers, ShiftsBeyondTheWidthLeaveZeroOrTheSign) {
  Texts args = {"s32[5] (1, -1, -8, 5, -8)", "s32[5] (31, 32, 40, -1, 2)"};
  expectOp("shift_left(%0, %1) : s32[5]", args, {"s32[5] (-2147483648, 0, 0, 0, -32)"});
  expectOp("shift_right_logical(%0, %1) : s32[5]", args, {"s32[5] (0, 0, 0, 0, 1073741822)"});
  expectOp("shift_right_arithmetic(%0, %1) : s32[5]", args, {"s32[5] (0, -1, -1, 0, -2)"});
  expectOp("shift_right_arithmetic(%0, %1) : u8[2]", {"u8[2] (128, 128)", "u8[2] (1, 9)"},
           {"u8[2] (192, 255)"});
  expectOp("shift_left(%0, %1) : s8[2]", {"s8[2] (-1, -1)", "s8[2] (7, 8)"}, {"s8[2] (-128, 0)"});
}

TEST(Integers, BitCounts) {
  expectOp("count_leading_zeros(%0) : s16[4]", {"s16[4] (0, 1, -1, 256)"},
           {"s16[4] (16, 15, 0, 7)"});
  expectOp("popcnt(%0) : s8[3]", {"s8[3] (-1, 0, 85)"}, {"s8[3] (8, 0, 4)"});
  expectOp("popcnt(%0) : u64[1]", {"u64[1] (18446744073709551615)"}, {"u64[1] (64)"});
  expectOp("not(%0) : u8[2]", {"u8[2] (0, 1)"}, {"u8[2] (255, 254)"});
  expectOp("sign(%0) : s64[3]", {"s64[3] (-9, 0, 9)"}, {"s64[3] (-1, 0, 1)"});
}

TEST(Pred, AddIsOrAndMultiplyIsAnd) {
  Texts args = {"pred[4] (true, true, false, false)", "pred[4] (true, false, true, false)"};
  for (const char* op : {"add", "maximum", "or"})
    expectOp(cat(op, "(%0, %1) : pred[4]"), args, {"pred[4] (true, true, true, false)"});
  for (const char* op : {"multiply", "minimum", "and"})
    expectOp(cat(op, "(%0, %1) : pred[4]"), args, {"pred[4] (true, false, false, false)"});
  expectOp("xor(%0, %1) : pred[4]", args, {"pred[4] (false, true, true, false)"});
  expectOp("not(%0) : pred[4]", {args[0]}, {"pred[4] (false, false, true, true)"});
}

TEST(Floats, MaximumAndMinimumPropagateNaNAndOrderZeros) {
  Texts args = {"f32[5] (-0, 0, nan, 1, inf)", "f32[5] (0, -0, 1, nan, -inf)"};
  expectOp("maximum(%0, %1) : f32[5]", args, {"f32[5] (0, 0, nan, nan, inf)"});
  expectOp("minimum(%0, %1) : f32[5]", args, {"f32[5] (-0, -0, nan, nan, -inf)"});
  expectOp("clamp(%0, %1, %2) : f32[4]", {"f32[] (-1)", "f32[4] (-5, 0.5, 7, nan)", "f32[] (2)"},
           {"f32[4] (-1, 0.5, 2, nan)"});
  expectOp("clamp(%0, %1, %2) : bf16[2]", {"bf16[2] (3, nan)", "bf16[2] (0, 0)", "bf16[2] (1, 1)"},
           {"bf16[2] (1, nan)"});
}

TEST(Floats, MultiplyAddRoundsTheProduct) {
  expectOp("multiply_add(%0, %1, %2) : f32[3]",
           {"f32[3] (3, 1.00024414, inf)", "f32[3] (2, 1.00024414, 0)",
            "f32[3] (-0.5, -1.00048828, 1)"},
           {"f32[3] (5.5, 0, nan)"});
  expectOp("multiply_add(%0, %1, %2) : f64[1]", {"f64[1] (3)", "f64[1] (2)", "f64[1] (-0.5)"},
           {"f64[1] (5.5)"});
}

TEST(Floats, SignKeepsNaNAndZeros) {
  expectOp("sign(%0) : f32[6]", {"f32[6] (-0, 0, -2.5, 2.5, nan, -inf)"},
           {"f32[6] (-0, 0, -1, 1, nan, -1)"});
  expectOp("abs(%0) : f16[3]", {"f16[3] (-0, -inf, nan)"}, {"f16[3] (0, inf, nan)"});
  expectOp("negate(%0) : f64[2]", {"f64[2] (0, -inf)"}, {"f64[2] (-0, inf)"});
}

TEST(Floats, TiesRoundAsNamed) {
  expectOp("round_nearest_afz(%0) : f32[6]", {"f32[6] (-2.5, 2.5, 0.5, -0.5, -0, inf)"},
           {"f32[6] (-3, 3, 1, -1, -0, inf)"});
  expectOp("round_nearest_even(%0) : f32[6]", {"f32[6] (-2.5, 2.5, 0.5, -0.5, 3.5, nan)"},
           {"f32[6] (-2, 2, 0, -0, 4, nan)"});
  // The largest number below 0.5: adding 0.5 first would round it up.
  expectOp("round_nearest_afz(%0) : f32[1]", {"f32[1] (0.49999997)"}, {"f32[1] (0)"});
  expectOp("ceil(%0) : f64[2]", {"f64[2] (-0.5, 1.25)"}, {"f64[2] (-0, 2)"});
  expectOp("floor(%0) : bf16[2]", {"bf16[2] (-0.5, 1.25)"}, {"bf16[2] (-1, 1)"});
}

TEST(Floats, SpecialValuesOfTwoOperands) {
  Texts args = {"f32[5] (-0, 0, nan, 1, inf)", "f32[5] (0, -0, 1, nan, -inf)"};
  expectOp("power(%0, %1) : f32[5]", args, {"f32[5] (1, 1, nan, 1, 0)"});
  expectOp("atan2(%0, %1) : f32[5]", args, {"f32[5] (-0, 3.1415927, nan, nan, 2.3561945)"});
  expectOp("remainder(%0, %1) : f32[4]", {"f32[4] (5.5, -5.5, 5.5, -0)", "f32[4] (2, 2, inf, 3)"},
           {"f32[4] (1.5, -1.5, 5.5, -0)"});
  expectOp("divide(%0, %1) : f64[4]", {"f64[4] (1, -1, 0, inf)", "f64[4] (0, 0, 0, inf)"},
           {"f64[4] (inf, -inf, nan, nan)"});
}

TEST(Floats, SpecialValuesOfFunctions) {
  std::string x = "f32[6] (-0, 0, -1, nan, inf, -inf)";
  expectOp("sqrt(%0) : f32[6]", {x}, {"f32[6] (-0, 0, nan, nan, inf, nan)"});
  expectOp("rsqrt(%0) : f32[6]", {x}, {"f32[6] (-inf, inf, nan, nan, 0, nan)"});
  expectOp("cbrt(%0) : f32[6]", {x}, {"f32[6] (-0, 0, -1, nan, inf, -inf)"});
  expectOp("log(%0) : f32[6]", {x}, {"f32[6] (-inf, -inf, nan, nan, inf, nan)"});
  expectOp("log_plus_one(%0) : f32[6]", {x}, {"f32[6] (-0, 0, -inf, nan, inf, nan)"});
  expectOp("exponential(%0) : f32[6]", {x}, {"f32[6] (1, 1, 0.36787944, nan, inf, 0)"});
  expectOp("exponential_minus_one(%0) : f32[6]", {x},
           {"f32[6] (-0, 0, -0.63212055, nan, inf, -1)"});
  expectOp("logistic(%0) : f32[6]", {x}, {"f32[6] (0.5, 0.5, 0.26894143, nan, 1, 0)"});
  expectOp("tanh(%0) : f32[6]", {x}, {"f32[6] (-0, 0, -0.7615942, nan, 1, -1)"});
  expectOp("erf(%0) : f32[6]", {x}, {"f32[6] (-0, 0, -0.84270078, nan, 1, -1)"});
  expectOp("is_finite(%0) : pred[6]", {x}, {"pred[6] (true, true, true, false, false, false)"});
  expectOp("sine(%0) : f32[6]", {x}, {"f32[6] (-0, 0, -0.84147098, nan, nan, nan)"});
}

// Reference values: glibc, in 80-bit long double.
TEST(Floats, FunctionsAreRoundedOnce) {
  std::string x = "f64[2] (0.5, 0.001)";
  expectNear("acos(%0) : f64[2]", {x}, "f64[2] (1.0471975511965977461, 1.5697963266282298775)", 1);
  expectNear("asin(%0) : f64[2]", {x}, "f64[2] (0.5235987755982988731, 0.0010000001666667417)", 1);
  expectNear("atan(%0) : f64[2]", {x}, "f64[2] (0.4636476090008061162, 0.00099999966666686667)", 1);
  expectNear("asinh(%0) : f64[2]", {x}, "f64[2] (0.4812118250596034475, 0.0009999998333334083)", 1);
  expectNear("acosh(%0) : f64[1]", {"f64[1] (1.5)"}, "f64[1] (0.9624236501192068951)", 1);
  expectNear("atanh(%0) : f64[2]", {x}, "f64[2] (0.5493061443340548457, 0.0010000003333335333)", 1);
  expectNear("sinh(%0) : f64[2]", {x}, "f64[2] (0.5210953054937473616, 0.0010000001666666750)", 1);
  expectNear("cosh(%0) : f64[2]", {x}, "f64[2] (1.1276259652063807853, 1.0000005000000416667)", 1);
  expectNear("tan(%0) : f64[2]", {x}, "f64[2] (0.5463024898437905133, 0.0010000003333334667)", 1);
  expectNear("cosine(%0) : f64[2]", {x}, "f64[2] (0.8775825618903727161, 0.99999950000004166667)",
             1);
}

TEST(Floats, HalvesAreRoundedOnceAndOverflow) {
  expectOp("add(%0, %1) : f16[3]", {"f16[3] (2048, 65504, 2050)", "f16[3] (1, 65504, 1)"},
           {"f16[3] (2048, inf, 2052)"});
  expectOp("multiply(%0, %1) : bf16[2]", {"bf16[2] (1.0078125, 3)", "bf16[2] (1.0078125, 85)"},
           {"bf16[2] (1.015625, 255)"});
  expectOp("exponential(%0) : f16[2]", {"f16[2] (12, -20)"}, {"f16[2] (inf, 0)"});
}

// Unlike XLA:CPU, which runs with subnormals flushed.
TEST(Floats, SubnormalsAreKept) {
  expectOp("multiply(%0, %1) : f32[1]", {"f32[1] (1e-38)", "f32[1] (0.01)"}, {"f32[1] (1e-40)"});
}

TEST(Select, TakesAScalarOrAnArrayPredicate) {
  expectOp("select(%0, %1, %2) : s32[3]",
           {"pred[3] (true, false, true)", "s32[3] (1, 2, 3)", "s32[3] (4, 5, 6)"},
           {"s32[3] (1, 5, 3)"});
  expectOp("select(%0, %1, %2) : c64[2]",
           {"pred[] (false)", "c64[2] ((1, 2), (3, 4))", "c64[2] ((5, 6), (7, 8))"},
           {"c64[2] ((5, 6), (7, 8))"});
}

TEST(Splats, StaySplats) {
  Result<Literals> sum = evaluateText("add(%0, %1) : f32[1000,1000]",
                                      {"f32[1000,1000] splat(1)", "f32[1000,1000] splat(2)"});
  ASSERT_TRUE(sum.ok());
  EXPECT_TRUE((*sum)[0].isSplat());
  EXPECT_EQ((*sum)[0].at<float>(999999), 3);
  expectOp("add(%0, %1) : s32[3]", {"s32[3] splat(1)", "s32[3] (1, 2, 3)"}, {"s32[3] (2, 3, 4)"});
}

TEST(Map, AppliesItsRegionToEachElement) {
  expectOp(
      "map(%0, %1) {dimensions = [0]} body(%a: s32[], %b: s32[]) {\n"
      "%c = multiply(%a, %b) : s32[]\n%d = add(%c, %b) : s32[]\nreturn %d\n} : s32[3]",
      {"s32[3] (1, 2, 3)", "s32[3] (10, 20, 30)"}, {"s32[3] (20, 60, 120)"});
}

}  // namespace
}  // namespace tercel::eval
