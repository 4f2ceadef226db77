// Where no lane of a vector is in an array, its masked load has the address of one that is: machines
// take hundreds of cycles to find out that nothing is to be read where there is no memory.
#include <gtest/gtest.h>

#include "compile/native.h"

namespace tercel::compiler {
namespace {

// Too much work to be cut into pieces: a vector's lanes are chosen from all parts.
std::string padded(int64_t low) {
  const std::string type = cat("f32[40,", low + 20, "]");
  std::string text = cat("func @main(%a: f32[40,20], %p: f32[]) -> (", type, ") {\n",
                         "  %0 = pad(%a, %p) {edge_padding_low = [0, ", low,
                         "], edge_padding_high = [0, 0], interior_padding = [0, 0]} : ", type, "\n");
  for (int i = 1; i <= 14; ++i)
    text += cat("  %", i, " = ", i % 2 ? "negate" : "abs", "(%", i - 1, ") : ", type, "\n");
  return text + "  return %14\n}\n";
}

TEST(MaskedLoad, FarBeyondAnArrayIsOfItsStart) {
  EXPECT_GT(countInKernel(moduleOf(padded(40)), " any "), 0);
  expectNative(padded(40));
}

TEST(MaskedLoad, NearAnArrayIsLeftAlone) {
  EXPECT_EQ(countInKernel(moduleOf(padded(5)), " any "), 0);
  expectNative(padded(5));
}

// Slices are addresses: what is left is little enough to be cut into pieces, which mask nothing.
TEST(MaskedLoad, IsNotForSlicesSideBySide) {
  std::string text = "func @main(%a: f32[1088]) -> (f32[1024]) {\n", parts;
  for (int i = 0; i < 4; ++i) {
    const int at = 256 * i;
    for (int k = 0; k < 2; ++k)
      text += cat("  %s", i, k, " = slice(%a) {start_indices = [", at + 64 * k,
                  "], limit_indices = [", at + 64 * k + 256, "], strides = [1]} : f32[256]\n");
    text += cat("  %d", i, " = subtract(%s", i, "0, %s", i, "1) : f32[256]\n");
    parts += cat(i ? ", %d" : "%d", i);
  }
  text += cat("  %c = concatenate(", parts, ") {dimension = 0} : f32[1024]\n  return %c\n}\n");
  EXPECT_EQ(countInKernel(moduleOf(text), "load_masked"), 0);
  expectNative(text);
}

}  // namespace
}  // namespace tercel::compiler
