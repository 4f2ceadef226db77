// Rows that several passes go over.
#include <gtest/gtest.h>

#include "compile/native.h"

namespace tercel::compiler {
namespace {

// A function's values, moved, less their sums over the rows.
std::string centred(std::string_view move, std::string_view moved) {
  return cat("func @main(%x: f32[40,30], %i: s32[7,1]) -> (", moved, ") {\n",
             "  %z = constant() {value = f32[] (0)} : f32[]\n  %t = tanh(%x) : f32[40,30]\n",
             "  %m = ", move, " : ", moved, "\n",
             "  %s = reduce(%m, %z) {dimensions = [1]} body(%a: f32[], %b: f32[]) {\n",
             "    %c = add(%a, %b) : f32[]\n    return %c\n  } : ",
             moved.substr(0, moved.find(',')), "]\n",
             "  %w = broadcast_in_dim(%s) {broadcast_dimensions = [0]} : ", moved, "\n",
             "  %r = subtract(%m, %w) : ", moved, "\n  return %r\n}\n");
}

TEST(Rows, KeepWhatTheyMoveOfFunctions) {
  const std::pair<std::string_view, std::string_view> cases[] = {
      {"reverse(%t) {dimensions = [1]}", "f32[40,30]"},
      {"pad(%t, %z) {edge_padding_low = [0, 3], edge_padding_high = [0, 5], "
       "interior_padding = [0, 0]}", "f32[40,38]"},
      {"reshape(%t)", "f32[4,300]"},
      {"gather(%t, %i) {offset_dims = [1], collapsed_slice_dims = [0], "
       "operand_batching_dims = [], start_indices_batching_dims = [], start_index_map = [0], "
       "index_vector_dim = 1, slice_sizes = [1, 30]}", "f32[7,30]"}};
  for (const auto& [move, moved] : cases) {
    const std::string text = centred(move, moved);
    EXPECT_EQ(countInKernel(moduleOf(text), "scratch 0"), 1) << text;
    expectNative(text);
  }
}

// Sums, or the largest, of what pairs of rows are together.
std::string pairs(std::string_view type, std::string_view op, int64_t length) {
  auto array = [&](std::string_view dims) { return cat(type, "[", dims, "]"); };
  const std::string all = array(cat("5,53,", length)), scalar = array("");
  return cat("func @main(%a: ", array(cat("5,", length)), ", %b: ", array(cat("53,", length)),
             ") -> (", array("5,53"), ") {\n",
             "  %z = constant() {value = ", scalar, " (0)} : ", scalar,
             "\n  %x = broadcast_in_dim(%a) {broadcast_dimensions = [0, 2]} : ", all,
             "\n  %y = broadcast_in_dim(%b) {broadcast_dimensions = [1, 2]} : ", all,
             "\n  %d = subtract(%x, %y) : ", all,
             "\n  %r = reduce(%d, %z) {dimensions = [2]} body(%p: ", scalar, ", %q: ", scalar,
             ") {\n    %c = ", op, "(%p, %q) : ", scalar, "\n    return %c\n  } : ", array("5,53"),
             "\n  return %r\n}\n");
}

TEST(Rows, AreMergedManyAtATimeWhereTheyAreShort) {
  for (std::string_view type : {"u8", "bf16", "s32", "f32", "f64"})
    for (std::string_view op : {"add", "maximum"})
      for (int64_t length : {2, 4, 5, 7, 8, 9, 12, 15, 16, 17, 20, 24, 31, 32, 33, 40})
        expectNative(pairs(type, op, length));
  EXPECT_EQ(countInKernel(moduleOf(pairs("f32", "add", 8)), " extract "), 0);
  EXPECT_EQ(countInKernel(moduleOf(pairs("f32", "add", 20)), " extract "), 0);
}

}  // namespace
}  // namespace tercel::compiler
