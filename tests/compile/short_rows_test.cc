// Rows of few elements: vectors take several of them whole, or one that a gather finds as it lies.
#include <gtest/gtest.h>

#include "compile/native.h"

namespace tercel::compiler {
namespace {

std::string rows(std::string_view type, int64_t length) {
  return cat("func @main(%a: ", type, "[50,", length, "], %i: s32[300,1]) -> (", type, "[300,",
             length, "]) {\n  %r = gather(%a, %i) {offset_dims = [1], collapsed_slice_dims = [0], ",
             "operand_batching_dims = [], start_indices_batching_dims = [], ",
             "start_index_map = [0], index_vector_dim = 1, slice_sizes = [1, ", length,
             "]} : ", type, "[300,", length, "]\n  return %r\n}\n");
}

TEST(ShortRows, AreLoadedWholeWhereAGatherFindsThem) {
  for (std::string_view type : {"s8", "f16", "f32"}) {
    for (int64_t length : {4, 8, 16, 32}) {
      const std::string text = rows(type, length);
      EXPECT_EQ(countInKernel(moduleOf(text), " gather "), 0) << text;
      expectNative(text);
    }
  }
}

// What is one number for all of an outer loop's turn, or a constant, is no work in its vectors.
TEST(ShortRows, FillVectorsBesideWorkOutsideOfThem) {
  std::string text =
      "func @main(%x: f32[64,3], %y: f32[128,3], %w: f32[64,128], %s: f32[64]) -> "
      "(f32[64,128,3]) {\n  %s0 = tanh(%s) : f32[64]\n";
  for (int i = 0; i < 8; ++i)
    text += cat("  %s", i + 1, " = add(%s", i, ", %s) : f32[64]\n");
  text +=
      "  %xs = broadcast_in_dim(%x) {broadcast_dimensions = [0, 2]} : f32[64,128,3]\n"
      "  %ys = broadcast_in_dim(%y) {broadcast_dimensions = [1, 2]} : f32[64,128,3]\n"
      "  %ss = broadcast_in_dim(%s8) {broadcast_dimensions = [0]} : f32[64,128]\n"
      "  %d = subtract(%xs, %ys) : f32[64,128,3]\n"
      "  %p = multiply(%w, %ss) : f32[64,128]\n"
      "  %ps = broadcast_in_dim(%p) {broadcast_dimensions = [0, 1]} : f32[64,128,3]\n"
      "  %r = multiply(%d, %ps) : f32[64,128,3]\n  return %r\n}\n";
  EXPECT_EQ(countInKernel(moduleOf(text), "store_masked"), 0) << text;
  expectNative(text);
}

// A function of each row, and what all rows share, beside the elements.
std::string scaled(std::string_view type, int64_t length) {
  const std::string array = cat(type, "[133,", length, "]"), rows = cat(type, "[133]");
  return cat("func @main(%z: ", rows, ", %y: ", array, ", %w: ", type, "[", length, "]) -> (",
             array, ") {\n  %f = exponential(%z) : ", rows,
             "\n  %fs = broadcast_in_dim(%f) {broadcast_dimensions = [0]} : ", array,
             "\n  %ws = broadcast_in_dim(%w) {broadcast_dimensions = [1]} : ", array,
             "\n  %p = multiply(%fs, %y) : ", array, "\n  %r = add(%p, %ws) : ", array,
             "\n  return %r\n}\n");
}

TEST(ShortRows, ShareAFunctionThatIsMadeForAVectorOfThem) {
  for (std::string_view type : {"bf16", "f32", "f64"})
    for (int64_t length : {5, 8, 9, 12, 15, 16, 17, 20, 31, 40, 64}) {
      const std::string text = scaled(type, length);
      const bool is_long = length >= (type == "f64" ? 32 : 64);
      EXPECT_EQ(countInKernel(moduleOf(text), "shuffle") == 0, is_long) << text;
      expectNative(text);
    }
}

// [rows, length] of as many ways to make an element.
std::string joined(std::string_view type, int64_t length) {
  const std::string column = cat(type, "[133,1]");
  std::string text = cat("func @main(%a: ", type, "[133,2], %b: ", column, ") -> (", type, "[133,",
                         length, "]) {\n");
  for (int64_t i = 0; i < 2; ++i)
    text += cat("  %x", i, " = slice(%a) {start_indices = [0, ", i, "], limit_indices = [133, ",
                i + 1, "], strides = [1, 1]} : ", column, "\n");
  std::string all;
  for (int64_t i = 0; i < length; ++i) {
    text += cat("  %e", i, " = ", i % 2 ? "add" : "multiply", "(%x", i % 2, ", ",
                i < 2 ? "%b" : cat("%e", i - 2), ") : ", column, "\n");
    all += cat(i ? ", %e" : "%e", i);
  }
  return text + cat("  %r = concatenate(", all, ") {dimension = 1} : ", type, "[133,", length,
                    "]\n  return %r\n}\n");
}

TEST(ShortRows, AreJoinedInRegistersOfElementsMadeInDifferentWays) {
  for (std::string_view type : {"u8", "bf16", "f32", "f64"})
    for (int64_t length : {2, 3, 4, 5, 6, 7, 9, 12, 16}) {
      const std::string text = joined(type, length);
      EXPECT_EQ(countInKernel(moduleOf(text), "scatter "), 0) << text;
      EXPECT_EQ(countInKernel(moduleOf(text), "gather "), 0) << text;
      expectNative(text);
    }
}

std::string centred(std::string_view type, int64_t rows, int64_t length) {
  const std::string array = cat(type, "[", rows, ",", length, "]"), scalar = cat(type, "[]");
  return cat("func @main(%a: ", array, ") -> (", array, ", ", type, "[", rows, "]) {\n",
             "  %low = constant() {value = ", scalar, " (0)} : ", scalar, "\n",
             "  %m = reduce(%a, %low) {dimensions = [1]} body(%p: ", scalar, ", %q: ", scalar,
             ") {\n    %c = maximum(%p, %q) : ", scalar, "\n    return %c\n  } : ", type, "[",
             rows, "]\n  %s = broadcast_in_dim(%m) {broadcast_dimensions = [0]} : ", array,
             "\n  %r = subtract(%s, %a) : ", array, "\n  return %r, %m\n}\n");
}

TEST(ShortRows, AreTurnedInRegistersAroundTheirReductions) {
  for (std::string_view type : {"u8", "f16", "f32", "f64"})
    for (int64_t length : {2, 3, 5, 6, 8, 10, 12, 16})
      for (int64_t rows : {64, 133}) {
        const std::string text = centred(type, rows, length);
        EXPECT_EQ(countInKernel(moduleOf(text), "scatter "), 0) << text;
        expectNative(text);
      }
}

}  // namespace
}  // namespace tercel::compiler
