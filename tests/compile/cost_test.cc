// What a program is thought to take decides which thread runs it.
#include <gtest/gtest.h>

#include "compile/native.h"
#include "compiler/compile.h"

namespace tercel::compiler {
namespace {

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
  Result<program::Program> program = compileModule(moduleOf(text), {});
  TERCEL_CHECK(program.ok(), program.status().message());
  return program->cost;
}

TEST(Cost, OfALoopIsThatOfAllItsSteps) {
  double short_loop = costOfLoop("  %l = constant() {value = s32[] (1000)} : s32[]");
  double long_loop = costOfLoop("  %l = constant() {value = s32[] (1000000)} : s32[]");
  EXPECT_LT(short_loop, 5e3);
  EXPECT_NEAR(long_loop / short_loop, 1000, 10);
}

TEST(Cost, OfALoopWhoseCountIsUnknownIsWorthAThread) {
  EXPECT_GE(costOfLoop("  %l = add(%n, %n) : s32[]"), 50e3);
}

}  // namespace
}  // namespace tercel::compiler
