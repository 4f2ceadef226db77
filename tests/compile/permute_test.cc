// Permutations of dimensions with short lines, and of words of several elements.
#include <gtest/gtest.h>

#include "compile/native.h"
#include "core/shape.h"

namespace tercel::compiler {
namespace {

std::string listOf(const std::vector<int64_t>& numbers, std::string_view between) {
  std::string list;
  for (int64_t n : numbers) list += cat(list.empty() ? "" : between, n);
  return list;
}

struct Permutation {
  std::vector<int64_t> dims, order;

  std::string from(std::string_view type) const { return cat(type, "[", listOf(dims, ","), "]"); }
  std::string to(std::string_view type) const {
    std::vector<int64_t> turned;
    for (int64_t d : order) turned.push_back(dims[static_cast<size_t>(d)]);
    return cat(type, "[", listOf(turned, ","), "]");
  }
  std::string move(std::string_view type) const {
    return cat("func @main(%a: ", from(type), ") -> (", to(type), ") {\n  %t = ", turn("%a", type),
               "  return %t\n}\n");
  }
  std::string turn(std::string_view value, std::string_view type) const {
    return cat("transpose(", value, ") {permutation = [", listOf(order, ", "), "]} : ", to(type),
               "\n");
  }
  // Of what is computed before, and what is after, with another operand.
  std::string compute(std::string_view type) const {
    return cat("func @main(%a: ", from(type), ", %b: ", to(type), ") -> (", to(type), ") {\n",
               "  %s = add(%a, %a) : ", from(type), "\n  %t = ", turn("%s", type),
               "  %r = multiply(%t, %b) : ", to(type), "\n  return %r\n}\n");
  }
};

const Permutation kAll[] = {
    {{8, 397}, {1, 0}},           {{397, 8}, {1, 0}},        {{7, 130}, {1, 0}},
    {{131, 13}, {1, 0}},          {{3, 271}, {1, 0}},        {{271, 3}, {1, 0}},
    {{9, 7, 129}, {0, 2, 1}},     {{9, 129, 6}, {0, 2, 1}},  {{90, 5, 7}, {0, 2, 1}},
    {{90, 2, 8}, {0, 2, 1}},      {{50, 12, 6}, {0, 2, 1}},  {{33, 40, 2}, {1, 0, 2}},
    {{33, 40, 3}, {1, 0, 2}},     {{33, 20, 4}, {1, 0, 2}},  {{33, 20, 5}, {1, 0, 2}},
    {{4, 90, 3}, {1, 0, 2}},      {{90, 4, 3}, {1, 0, 2}},   {{33, 20, 13}, {1, 0, 2}},
    {{9, 15, 19, 3}, {2, 1, 3, 0}}, {{2, 19, 22, 5, 5}, {4, 1, 2, 0, 3}},
    {{7, 5, 40, 4}, {3, 1, 2, 0}},  {{3, 5, 2, 55, 57}, {1, 0, 4, 3, 2}},
    {{3, 5, 53, 31}, {3, 1, 2, 0}}, {{63, 317}, {1, 0}},     {{5, 23, 151}, {0, 2, 1}},
    {{5, 20, 16, 2}, {2, 1, 0, 3}}, {{40, 33, 6, 2}, {1, 0, 3, 2}}, {{2, 26, 2}, {0, 2, 1}},
};

TEST(Permute, MovesEveryType) {
  for (const Permutation& p : kAll)
    for (std::string_view type : {"u8", "f16", "bf16", "f32", "s64"}) expectNative(p.move(type));
}

TEST(Permute, ComputesBeforeAndAfter) {
  for (const Permutation& p : kAll)
    for (std::string_view type : {"s8", "f16", "f32", "f64"}) expectNative(p.compute(type));
}

// What else is read: an element of each row, of each column, and the operand itself where it lay.
TEST(Permute, BesideOtherOperands) {
  expectNative(
      "func @main(%a: f32[9,129,6], %b: f32[6], %c: f32[129], %d: f32[9,6,129]) -> "
      "(f32[9,6,129], f32[9,6,129], f32[9,6,129]) {\n"
      "  %t = transpose(%a) {permutation = [0, 2, 1]} : f32[9,6,129]\n"
      "  %bs = broadcast_in_dim(%b) {broadcast_dimensions = [1]} : f32[9,6,129]\n"
      "  %cs = broadcast_in_dim(%c) {broadcast_dimensions = [2]} : f32[9,6,129]\n"
      "  %x = add(%t, %bs) : f32[9,6,129]\n  %y = multiply(%t, %cs) : f32[9,6,129]\n"
      "  %z = subtract(%d, %t) : f32[9,6,129]\n  return %x, %y, %z\n}\n");
  expectNative(
      "func @main(%a: f32[65,65]) -> (f32[65,65]) {\n  %s = multiply(%a, %a) : f32[65,65]\n"
      "  %t = transpose(%s) {permutation = [1, 0]} : f32[65,65]\n"
      "  %r = add(%t, %a) : f32[65,65]\n  return %r\n}\n");
  expectNative(
      "func @main(%a: f32[65,7], %b: f32[65,7]) -> (f32[7,65]) {\n  %s = add(%a, %b) : f32[65,7]\n"
      "  %t = transpose(%s) {permutation = [1, 0]} : f32[7,65]\n  return %t\n}\n");
}

TEST(Permute, NarrowFloatsAreTurnedAsTheyLie) {
  const std::string text = Permutation{{4, 110, 75}, {0, 2, 1}}.compute("f16");
  EXPECT_LT(countInKernel(moduleOf(text), " fptrunc "), 20) << text;
}

TEST(Permute, FewLinesGoStraightToTheOutput) {
  for (const Permutation& p : {kAll[0], kAll[1], kAll[5], kAll[9]}) {
    const ir::Module module = moduleOf(p.move("f32"));
    EXPECT_EQ(countInKernel(module, "scratch 0"), 0) << p.move("f32");
    EXPECT_GT(countInKernel(module, " shuffle "), 0) << p.move("f32");
  }
}

TEST(Permute, WordsStayTogether) {
  for (const Permutation& p : {kAll[12], kAll[14], kAll[17]}) {
    const ir::Module module = moduleOf(p.move("f32"));
    EXPECT_EQ(countInKernel(module, " shuffle "), 0) << p.move("f32");
    EXPECT_EQ(countInKernel(module, " gather "), 0) << p.move("f32");
  }
  const Permutation &few = kAll[12], &many = kAll[17];  // elements of a word
  EXPECT_EQ(countInKernel(moduleOf(few.move("f32")), "scratch 0"), 1);
  EXPECT_EQ(countInKernel(moduleOf(many.move("f32")), "scratch 0"), 0);
}

// Planes less a number for each, as pixels.
std::string pixels(std::string_view type, int64_t channels, bool reversed) {
  auto array = [&](std::string_view dims) { return cat(type, "[", dims, "]"); };
  const std::string planes = array(cat(channels, ",20,240"));
  const std::string turned = array(cat("20,240,", channels));
  return cat("func @main(%a: ", planes, ", %m: ", array(cat(channels)), ") -> (", turned, ") {\n",
             reversed ? cat("  %x = reverse(%a) {dimensions = [1, 2]} : ", planes, "\n")
                      : cat("  %x = negate(%a) : ", planes, "\n"),
             "  %t = transpose(%x) {permutation = [1, 2, 0]} : ", turned,
             "\n  %w = broadcast_in_dim(%m) {broadcast_dimensions = [2]} : ", turned,
             "\n  %r = subtract(%t, %w) : ", turned, "\n  return %r\n}\n");
}

TEST(Permute, PlanesBecomePixelsByALoadOfEach) {
  for (std::string_view type : {"u8", "s16", "f16", "f32", "f64", "c64"})
    for (int64_t channels : {2, 3, 4, 5, 7})
      for (bool reversed : {false, true}) {
        const std::string text = pixels(type, channels, reversed);
        expectNative(text);
      }
  EXPECT_EQ(countInKernel(moduleOf(pixels("f32", 3, true)), "gather"), 0);
  EXPECT_EQ(countInKernel(moduleOf(pixels("f64", 3, false)), "gather"), 0);
}

}  // namespace
}  // namespace tercel::compiler
