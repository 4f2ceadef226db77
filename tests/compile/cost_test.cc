// What a program is thought to take decides which thread runs it.
#include <gtest/gtest.h>

#include "compile/native.h"
#include "compiler/compile.h"

namespace tercel::compiler {
namespace {

double costOf(std::string_view text) {
  Result<program::Program> program = compileModule(moduleOf(text), {});
  TERCEL_CHECK(program.ok(), program.status().message());
  return program->cost;
}

double costOfLoop(std::string_view limit) {
  std::string text = cat("func @main(%a: f32[], %n: s32[]) -> (f32[]) {\n",
                         "  %z = constant() {value = s32[] (0)} : s32[]\n",
                         "  %one = constant() {value = s32[] (1)} : s32[]\n", limit, R"(
  %r, %i = while(%a, %z) cond(%x: f32[], %j: s32[]) {
    %c = compare(%j, %l) {comparison_direction = LT} : pred[]
    return %c
  } body(%x: f32[], %j: s32[]) {
    %m = multiply(%x, %x) : f32[]
    %y = subtract(%m, %a) : f32[]
    %k = add(%j, %one) : s32[]
    return %y, %k
  } : f32[], s32[]
  return %r
})");
  return costOf(text);
}

TEST(Cost, OfALoopIsThatOfAllItsSteps) {
  double short_loop = costOfLoop("  %l = constant() {value = s32[] (1000)} : s32[]");
  double long_loop = costOfLoop("  %l = constant() {value = s32[] (1000000)} : s32[]");
  EXPECT_LT(short_loop, 5e3);
  EXPECT_NEAR(long_loop / short_loop, 1000, 10);
}

TEST(Cost, OfALoopWhoseCountIsUnknownIsWorthAThread) {
  EXPECT_GE(costOfLoop("  %l = add(%n, %n) : s32[]"), 400e3);
}

// The loop is one of steps: its body has a product of the size of `first`.
double costOfSteps(std::string_view limit) {
  return costOf(cat("func @main(%a: f32[64,64], %n: s32[]) -> (f32[64,64]) {\n",
                    "  %z = constant() {value = s32[] (0)} : s32[]\n",
                    "  %one = constant() {value = s32[] (1)} : s32[]\n", limit, R"(
  %r, %i = while(%a, %z) cond(%x: f32[64,64], %j: s32[]) {
    %c = compare(%j, %l) {comparison_direction = LT} : pred[]
    return %c
  } body(%x: f32[64,64], %j: s32[]) {
    %m = dot_general(%x, %x) {lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0]} : f32[64,64]
    %k = add(%j, %one) : s32[]
    return %m, %k
  } : f32[64,64], s32[]
  return %r
})"));
}

TEST(Cost, OfALoopOfStepsIsThatOfManyTurns) {
  EXPECT_GE(costOfSteps("  %l = add(%n, %n) : s32[]"), 400e3);
}

// A row of a large array costs what a row does, not what reading all of the array would.
TEST(Cost, OfASliceIsOfWhatItReads) {
  double row = costOf(R"(func @main(%a: f32[10000,100]) -> (f32[1,100]) {
  %s = slice(%a) {start_indices = [7,0], limit_indices = [8,100], strides = [1,1]} : f32[1,100]
  %y = tanh(%s) : f32[1,100]
  return %y
})");
  EXPECT_LT(row, 1e3);
}

}  // namespace
}  // namespace tercel::compiler
