#include "compiler/kernel/verifier.h"

#include <gtest/gtest.h>

#include "compiler/kernel/text.h"

namespace tercel::kernel {
namespace {

// The problem that the verifier sees in a body of a kernel, empty if none.
std::string problemOf(std::string_view body) {
  auto kernel = parse(cat("kernel @k(%0, %1) {params = 2, scratch = 64} {\n",
                          "#0 = f32 param 0 read_only\n#1 = f32 param 1\n#2 = i8 scratch 0\n",
                          "function @f(%fx : f32x8, %fi : i32x8) { yield %fx }\n",
                          "%x = constant 1 : f32x8\n%y = constant 2 : f32x4\n",
                          "%i = constant 3 : i32x8\n%m = constant 1 : i1x8\n%t = constant 1 : i1\n",
                          "%h = constant 1 : f16x8\n%l = lane_ids : i64x8\n", body, "}"));
  if (!kernel.ok()) return kernel.status().message();
  Status status = verify(*kernel);
  std::string message = status.message();
  size_t colon = message.rfind("`: ");
  if (colon == message.npos) colon = message.find(": ") - 1;
  return status.ok() ? "" : message.substr(colon + 3);
}

TEST(Verifier, AcceptsWhatIsRight) {
  EXPECT_EQ(problemOf("%2 = fadd %x, %x : f32x8"), "");
  EXPECT_EQ(problemOf("%2 = select %t, %x, %x : f32x8 %3 = select %m, %x, %x : f32x8"), "");
  EXPECT_EQ(problemOf("%2 = fneg %h : f16x8 %3 = fpext %h : f32x8"), "");
  EXPECT_EQ(problemOf("%2 = gather #0[%0], %l, %m : f32x8 scatter #1[%0], %l, %2, %m : f32x8"), "");
  EXPECT_EQ(problemOf("%2 = xor %m, %m : i1x8"), "");
}

TEST(Verifier, Types) {
  EXPECT_EQ(problemOf("%2 = fadd %x, %y : f32x8"), "operand 1 is f32x4, not f32x8");
  EXPECT_EQ(problemOf("%2 = fadd %i, %i : i32x8"), "floats wanted");
  EXPECT_EQ(problemOf("%2 = iadd %x, %x : f32x8"), "integers wanted");
  EXPECT_EQ(problemOf("%2 = iadd %m, %m : i1x8"), "arithmetic on i1");
  EXPECT_EQ(problemOf("%2 = fmul %h, %h : f16x8"), "");
  EXPECT_EQ(problemOf("%2 = fmaximum %h, %h : f16x8"), "arithmetic on f16");
  EXPECT_EQ(problemOf("%2 = fcmp olt %x, %x : i1x4"),
            "the result is i1 with the operands' lanes");
  EXPECT_EQ(problemOf("%2 = fcmp slt %x, %x : i1x8"),
            "a predicate of the other kind of numbers");
  EXPECT_EQ(problemOf("%2 = select %m, %y, %y : f32x4"),
            "the condition is i1 or as many i1 as the result has lanes");
  EXPECT_EQ(problemOf("%2 = splat %x : f32x8"), "operand 0 is f32x8, not f32");
  EXPECT_EQ(problemOf("%2 = extract %x, 8 : f32"), "no such lane");
  EXPECT_EQ(problemOf("%2 = extract %x, 1 : f64"), "the result is one lane of the operand");
  EXPECT_EQ(problemOf("%2 = shuffle %x, %x [0, 16] : f32x2"), "no such lane");
  EXPECT_EQ(problemOf("%2 = shuffle %x, %x [0, 1] : f32x4"),
            "not one lane number for each result lane");
  EXPECT_EQ(problemOf("%2 = lane_ids : f32x8"), "integers wanted");
}

TEST(Verifier, Conversions) {
  EXPECT_EQ(problemOf("%2 = zext %i : i8x8"), "no conversion from i32 to i8");
  EXPECT_EQ(problemOf("%2 = zext %i : i64x4"), "lanes differ");
  EXPECT_EQ(problemOf("%2 = fpext %h : bf16x8"), "no conversion from f16 to bf16");
  EXPECT_EQ(problemOf("%2 = sitofp %i : bf16x8"), "no conversion from i32 to bf16");
  EXPECT_EQ(problemOf("%2 = fptosi %h : i32x8"), "no conversion from f16 to i32");
  EXPECT_EQ(problemOf("%2 = bitcast %i : i64x4"), "");
  EXPECT_EQ(problemOf("%2 = bitcast %i : i64x2"), "lanes differ");
  EXPECT_EQ(problemOf("%2 = bitcast %h : i32x8"), "no conversion from f16 to i32");
}

TEST(Verifier, Subnormals) {
  EXPECT_EQ(problemOf("subnormals_forget %2 = subnormals_met : i32"), "");
  EXPECT_EQ(problemOf("%2 = subnormals_met : i64"), "the result is one i32");
}

TEST(Verifier, Tiles) {
  EXPECT_EQ(problemOf("tiles_begin tile_zero [7] tile_dot_bf16 [0, 1, 7] tiles_end"), "");
  EXPECT_EQ(problemOf("tile_load #0[%0] [3, 16] : f32x16 tile_store #1[%0] [3, 16] : f32x16"), "");
  EXPECT_EQ(problemOf("tile_zero [8]"), "no such tile");
  EXPECT_EQ(problemOf("tile_dot_bf16 [0, 1]"), "another number of tiles");
  EXPECT_EQ(problemOf("tile_load #0[%0] [3] : f32x16"), "another number of tiles");
  EXPECT_EQ(problemOf("tile_load #0[%0] [3, 16] : f32x8"), "no row of a tile");
  EXPECT_EQ(problemOf("tile_load #0[%0] [3, 16] : i32x16"), "the buffer holds f32");
  EXPECT_EQ(problemOf("tile_store #0[%0] [3, 16] : f32x16"), "the buffer is read only");
}

TEST(Verifier, Functions) {
  EXPECT_EQ(problemOf("%2 = any %m : i1 %3 = rarely %2 @f(%x, %i) : f32x8"), "");
  EXPECT_EQ(problemOf("%2 = any %m : i1x8"), "the result is one i1");
  EXPECT_EQ(problemOf("%2 = any %i : i1"), "a mask wanted");
  EXPECT_EQ(problemOf("%2 = rarely %m @f(%x, %i) : f32x8"), "the condition is one i1");
  EXPECT_EQ(problemOf("%2 = rarely %t @f(%x) : f32x8"), "another number of arguments");
  EXPECT_EQ(problemOf("%2 = rarely %t @f(%x, %x) : f32x8"), "operand 2 is f32x8, not i32x8");
  EXPECT_EQ(problemOf("%2 = rarely %t @f(%x, %i) : f32x4"),
            "the result has another type than the first argument");
}

// The problem of a function with this body, or with one that another function uses.
std::string problemOfFunction(std::string_view body) {
  auto kernel = parse(cat("kernel @k(%0, %1) {params = 1} {\n#0 = f32 param 0\n",
                          "function @g(%x : f32) {\n", body, "}\n%t = icmp eq %0, %1 : i1\n",
                          "%y = constant 1 : f32 %z = rarely %t @g(%y) : f32\n}"));
  if (!kernel.ok()) return kernel.status().message();
  return std::string(verify(*kernel).message());
}

TEST(Verifier, FunctionsSeeTheirArgumentsOnly) {
  EXPECT_EQ(problemOfFunction("yield %x"), "");
  EXPECT_NE(problemOfFunction("%a = iadd %0, %0 : i64 yield %x").find("is not defined here"),
            std::string::npos);
  EXPECT_NE(problemOfFunction("%i = constant 0 : i64 %a = load #0[%i] : f32 yield %a")
                .find("memory in a function"),
            std::string::npos);
  EXPECT_NE(problemOfFunction("%i = constant 0 : i64 yield %i").find("yields another type"),
            std::string::npos);
  EXPECT_NE(problemOfFunction("yield %x, %x").find("does not yield one value"), std::string::npos);
  EXPECT_NE(problemOfFunction("%t = constant 1 : i1 %a = rarely %t @g(%x) : f32 yield %a")
                .find("there is no function @g"),
            std::string::npos);
}

TEST(Verifier, Memory) {
  EXPECT_EQ(problemOf("store #0[%0], %x : f32x8"), "the buffer is read only");
  EXPECT_EQ(problemOf("store #2[%0], %x : f32x8"), "the buffer holds i8");
  EXPECT_EQ(problemOf("%2 = load #0[%l] : f32x8"), "operand 0 is i64x8, not i64");
  EXPECT_EQ(problemOf("%2 = gather #0[%l], %l, %m : f32x8"), "operand 0 is i64x8, not i64");
  EXPECT_EQ(problemOf("%2 = gather #0[%0], %0, %m : f32x8"), "operand 1 is i64, not i64x8");
  EXPECT_EQ(problemOf("scatter #1[%0], %l, %y, %m : f32x8"), "operand 2 is f32x4, not f32x8");
  EXPECT_EQ(problemOf("%2 = load_masked #0[%0], %t : f32x8"), "operand 1 is i1, not i1x8");
  EXPECT_EQ(problemOf("store_masked #1[%0], %y, %m : f32x8"), "operand 1 is f32x4, not f32x8");
}

TEST(Verifier, Control) {
  EXPECT_EQ(problemOf("for %j = %0 to %1 step 0 { }"), "the step is not positive");
  EXPECT_EQ(problemOf("for %j = %0 to %x step 1 { }"), "the bounds are two i64");
  EXPECT_EQ(problemOf("%r = for %j = %0 to %1 step 1 (%a = %x) { yield %y }"),
            "a block of it yields values of other types or number");
  EXPECT_EQ(problemOf("%r = for %j = %0 to %1 step 1 (%a = %x) { }"),
            "a block of it yields values of other types or number");
  EXPECT_EQ(problemOf("%r = while (%a = %x) { yield %0 } do (%b) { yield %b }"),
            "a block of it yields values of other types or number");
  EXPECT_EQ(problemOf("%r = if %t { yield %x } else { yield %y }"),
            "a block of it yields values of other types or number");
  EXPECT_EQ(problemOf("if %0 { }"), "the condition is one i1");
}

TEST(Verifier, Dominance) {
  EXPECT_NE(problemOf("if %t { %2 = iadd %0, %0 : i64 } %3 = iadd %2, %2 : i64"), "");
  EXPECT_NE(problemOf("if %t { %2 = iadd %0, %0 : i64 } else { %3 = iadd %2, %2 : i64 }"), "");
  EXPECT_NE(problemOf("for %j = %0 to %1 step 1 { } %3 = iadd %j, %j : i64"), "");
  EXPECT_EQ(problemOf("for %j = %0 to %1 step 1 { %3 = iadd %j, %0 : i64 }"), "");
}

// Kernels that no text can express.
TEST(Verifier, BrokenStructure) {
  auto kernel = parse("kernel @k(%0, %1) {\n%2 = iadd %0, %1 : i64\nif %b { } }");
  EXPECT_FALSE(kernel.ok());
  auto good = parse("kernel @k(%0, %1) {\n%2 = iadd %0, %1 : i64\n%3 = imul %2, %2 : i64\n}");
  ASSERT_TRUE(good.ok());
  ASSERT_TRUE(verify(*good).ok());
  Kernel bad = *good;
  std::swap(bad.blocks[0].insts[0], bad.blocks[0].insts[1]);
  EXPECT_FALSE(verify(bad).ok());
  bad = *good;
  bad.blocks[0].insts.push_back(0);
  EXPECT_FALSE(verify(bad).ok());
  bad = *good;
  bad.insts[1].operands[0] = V{};
  EXPECT_FALSE(verify(bad).ok());
  bad = *good;
  bad.values[2].type = {Scalar::f32, 1};
  EXPECT_FALSE(verify(bad).ok());
  bad = *good;
  bad.insts[0].operands.push_back(V{0});
  EXPECT_FALSE(verify(bad).ok());
  bad = *good;
  bad.buffers.push_back({.param = 3});
  EXPECT_FALSE(verify(bad).ok());
}

}  // namespace
}  // namespace tercel::kernel
