// Facts of XLA:CPU (jaxlib 0.10.2).
#include <gtest/gtest.h>

#include "program.h"

namespace tercel::eval {
namespace {

std::string reduceTo(std::string_view op, std::string_view dimensions, std::string_view type) {
  std::string dtype(type.substr(0, type.find('[')));
  return cat("reduce(%0, %1) {dimensions = ", dimensions, "} ", combineWith(op, dtype), " : ",
             type);
}

TEST(Reduce, OverSomeDimensions) {
  std::string x = "s32[2,3] (1, 2, 3, 4, 5, 6)";
  expectOp(reduceTo("add", "[1]", "s32[2]"), {x, "s32[] (100)"}, {"s32[2] (106, 115)"});
  expectOp(reduceTo("multiply", "[0]", "s32[3]"), {x, "s32[] (1)"}, {"s32[3] (4, 10, 18)"});
  expectOp(reduceTo("minimum", "[0, 1]", "s32[]"), {x, "s32[] (7)"}, {"s32[] (1)"});
  expectOp(reduceTo("add", "[0]", "s32[2]"), {"s32[0,2] ()", "s32[] (7)"}, {"s32[2] (7, 7)"});
  expectOp(reduceTo("maximum", "[0]", "f32[]"), {"f32[3] (1, nan, 2)", "f32[] (-inf)"},
           {"f32[] (nan)"});
  expectOp(reduceTo("or", "[0]", "pred[]"), {"pred[3] (false, true, false)", "pred[] (false)"},
           {"pred[] (true)"});
}

// 256 + 1 is 256 in bf16, and 2048 + 1 is 2048 in f16.
TEST(Reduce, AccumulatesInAWiderTypeAndRoundsOnce) {
  expectOp(reduceTo("add", "[0]", "bf16[]"), {"bf16[1000] splat(1)", "bf16[] (0)"},
           {"bf16[] (1000)"});
  expectOp(reduceTo("add", "[0]", "f16[]"), {"f16[5000] splat(1)", "f16[] (0)"}, {"f16[] (5000)"});
  expectOp(reduceTo("add", "[0]", "f32[]"), {"f32[3] (1e8, 1, -1e8)", "f32[] (0)"}, {"f32[] (1)"});
}

TEST(Reduce, ARegionThatRoundsIsObeyed) {
  expectOp(
      "reduce(%0, %1) {dimensions = [0]} body(%a: f32[], %b: f32[]) {\n"
      "%c = add(%a, %b) : f32[]\n"
      "%d = reduce_precision(%c) {exponent_bits = 8, mantissa_bits = 7} : f32[]\n"
      "return %d\n} : f32[]",
      {"f32[1000] splat(1)", "f32[] (0)"}, {"f32[] (256)"});
}

std::string argMax(std::string_view type) {
  return cat(
      "reduce(%0, %1, %2, %3) {dimensions = [0]} body(%a: f32[], %i: s32[], %b: f32[], "
      "%j: s32[]) {\n%gt = compare(%a, %b) {comparison_direction = GT} : pred[]\n"
      "%eq = compare(%a, %b) {comparison_direction = EQ} : pred[]\n"
      "%lt = compare(%i, %j) {comparison_direction = LT} : pred[]\n"
      "%tie = and(%eq, %lt) : pred[]\n%keep = or(%gt, %tie) : pred[]\n"
      "%v = select(%keep, %a, %b) : f32[]\n%k = select(%keep, %i, %j) : s32[]\n"
      "return %v, %k\n} : ",
      type);
}

TEST(Reduce, SeveralArraysTogether) {
  expectOp(argMax("f32[], s32[]"),
           {"f32[4] (1, 5, 5, 2)", "s32[4] (0, 1, 2, 3)", "f32[] (-inf)", "s32[] (0)"},
           {"f32[] (5)", "s32[] (1)"});
}

// The comparator is a loop, so the region is evaluated op by op.
TEST(Reduce, ARegionMayHoldAnyOps) {
  expectOp(
      "reduce(%0, %1) {dimensions = [0]} body(%a: s32[], %b: s32[]) {\n"
      "%r = while(%a) cond(%x: s32[]) {\n"
      "%c = compare(%x, %b) {comparison_direction = LT} : pred[]\nreturn %c\n"
      "} body(%y: s32[]) {\n%two = constant() {value = s32[] (2)} : s32[]\n"
      "%z = multiply(%y, %two) : s32[]\nreturn %z\n} : s32[]\nreturn %r\n} : s32[]",
      {"s32[3] (3, 9, 5)", "s32[] (1)"}, {"s32[] (16)"});
}

TEST(Reduce, ARegionMayCallFunctions) {
  expectOp(
      "reduce(%0, %1) {dimensions = [0]} body(%a: s32[], %b: s32[]) {\n"
      "%c = call(%a, %b) {callee = plus} : s32[]\nreturn %c\n} : s32[]",
      {"s32[3] (1, 2, 3)", "s32[] (10)"}, {"s32[] (16)"},
      "func private @plus(%x: s32[], %y: s32[]) -> (s32[]) {\n%z = add(%x, %y) : s32[]\n"
      "return %z\n}");
}

std::string window1d(std::string_view op, std::string_view attributes, std::string_view type) {
  std::string dtype(type.substr(0, type.find('[')));
  return cat("reduce_window(%0, %1) {", attributes, "} ", combineWith(op, dtype), " : ", type);
}

// The initial value counts once a window and padding does not, where StableHLO pads with it.
TEST(ReduceWindow, PaddingIsLeftOut) {
  expectOp(window1d("add",
                    "window_dimensions = [2], window_strides = [1], base_dilations = [1], "
                    "window_dilations = [1], padding = [1, 1]",
                    "s32[5]"),
           {"s32[4] (1, 2, 3, 4)", "s32[] (100)"}, {"s32[5] (101, 103, 105, 107, 104)"});
}

TEST(ReduceWindow, StridesAndDilations) {
  expectOp(window1d("add",
                    "window_dimensions = [2], window_strides = [2], base_dilations = [2], "
                    "window_dilations = [3], padding = [0, 1]",
                    "s32[3]"),
           {"s32[4] (1, 2, 3, 4)", "s32[] (0)"}, {"s32[3] (1, 2, 3)"});
  expectOp(window1d("maximum",
                    "window_dimensions = [3], window_strides = [2], base_dilations = [1], "
                    "window_dilations = [1], padding = [-1, 0]",
                    "f32[2]"),
           {"f32[6] (9, 1, 5, 2, 7, 3)", "f32[] (-inf)"}, {"f32[2] (5, 7)"});
}

TEST(ReduceWindow, PrefixSums) {
  expectOp(window1d("add",
                    "window_dimensions = [4], window_strides = [1], base_dilations = [1], "
                    "window_dilations = [1], padding = [3, 0]",
                    "u8[4]"),
           {"u8[4] (100, 100, 100, 1)", "u8[] (0)"}, {"u8[4] (100, 200, 44, 45)"});
}

std::string selectAndScatter(std::string_view direction, std::string_view attributes,
                             std::string_view type) {
  return cat(
      "select_and_scatter(%0, %1, %2) {", attributes,
      "} body(%a: f32[], %b: f32[]) {\n%c = compare(%a, %b) {comparison_direction = ", direction,
      "} : pred[]\nreturn %c\n} body(%d: f32[], %e: f32[]) {\n%f = add(%d, %e) : f32[]\n"
      "return %f\n} : ",
      type);
}

TEST(SelectAndScatter, TiesNaNsAndPadding) {
  auto run = [](std::string_view direction, std::string_view operand, std::string_view want) {
    expectOp(
        selectAndScatter(
            direction, "window_dimensions = [2], window_strides = [2], padding = [1, 0]", "f32[5]"),
        {cat("f32[5] ", operand), "f32[3] (1, 2, 3)", "f32[] (10)"}, {cat("f32[5] ", want)});
  };
  run("GE", "(-1, -5, -5, -7, -6)", "(11, 12, 10, 10, 13)");
  run("GT", "(-1, -5, -5, -7, -6)", "(11, 10, 12, 10, 13)");
  run("GE", "(nan, -5, nan, 1, nan)", "(11, 10, 12, 10, 13)");
  run("GE", "(-inf, -inf, -inf, 1, 2)", "(11, 12, 10, 10, 13)");
}

TEST(SelectAndScatter, AWindowOfPaddingIsSkipped) {
  expectOp(selectAndScatter("GT", "window_dimensions = [2], window_strides = [2], padding = [2, 0]",
                            "f32[4]"),
           {"f32[4] (3, 4, 5, 6)", "f32[3] (1, 2, 3)", "f32[] (10)"}, {"f32[4] (10, 12, 10, 13)"});
}

TEST(SelectAndScatter, VisitsTheWindowRowByRow) {
  expectOp(selectAndScatter("GE",
                            "window_dimensions = [2, 2], window_strides = [2, 2], "
                            "padding = [0, 0, 0, 0]",
                            "f32[2,2]"),
           {"f32[2,2] (0, 1, 1, 0)", "f32[1,1] (5)", "f32[] (0)"}, {"f32[2,2] (0, 5, 0, 0)"});
}

}  // namespace
}  // namespace tercel::eval
