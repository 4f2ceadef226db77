// Facts of XLA:CPU (jaxlib 0.10.2).
#include <gtest/gtest.h>

#include "program.h"

namespace tercel::eval {
namespace {

TEST(Gather, RowsWithClampedStarts) {
  expectOp(
      "gather(%0, %1) {offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], "
      "index_vector_dim = 1, slice_sizes = [1, 2]} : s32[4,2]",
      {"s32[3,2] (1, 2, 3, 4, 5, 6)", "s32[4,1] (2, 0, -5, 9)"},
      {"s32[4,2] (5, 6, 1, 2, 1, 2, 5, 6)"});
}

TEST(Gather, WindowsOfSeveralElements) {
  expectOp(
      "gather(%0, %1) {offset_dims = [0], start_index_map = [0], index_vector_dim = 0, "
      "slice_sizes = [3]} : s32[3]",
      {"s32[5] (0, 1, 2, 3, 4)", "u64[1] (18446744073709551615)"}, {"s32[3] (2, 3, 4)"});
}

TEST(Gather, IndexVectorsInAnyDimensionAndOrder) {
  // Index vectors are columns, and name (column, row) of the operand.
  expectOp(
      "gather(%0, %1) {collapsed_slice_dims = [0, 1], start_index_map = [1, 0], "
      "index_vector_dim = 0, slice_sizes = [1, 1]} : s32[3]",
      {"s32[2,3] (0, 1, 2, 10, 11, 12)", "s32[2,3] (0, 2, 1, 0, 1, 1)"}, {"s32[3] (0, 12, 11)"});
}

TEST(Gather, ImplicitIndexVector) {
  expectOp(
      "gather(%0, %1) {collapsed_slice_dims = [0], start_index_map = [0], "
      "index_vector_dim = 1, slice_sizes = [1]} : s32[2]",
      {"s32[3] (7, 8, 9)", "s32[2] (2, 1)"}, {"s32[2] (9, 8)"});
}

TEST(Gather, BatchingDimensions) {
  expectOp(
      "gather(%0, %1) {collapsed_slice_dims = [1], operand_batching_dims = [0], "
      "start_indices_batching_dims = [1], start_index_map = [1], index_vector_dim = 2, "
      "slice_sizes = [1, 1]} : s32[2,2]",
      {"s32[2,3] (0, 1, 2, 10, 11, 12)", "s32[2,2,1] (0, 1, 2, 0)"}, {"s32[2,2] (0, 11, 2, 10)"});
}

std::string scatter1d(std::string_view op, int window, std::string_view type) {
  std::string dtype(type.substr(0, type.find('[')));
  return cat("scatter(%0, %1, %2) {update_window_dims = [", window ? "1" : "",
             "], inserted_window_dims = [", window ? "" : "0",
             "], scatter_dims_to_operand_dims = [0], index_vector_dim = 1} ",
             combineWith(op, dtype), " : ", type);
}

TEST(Scatter, CombinesInOrder) {
  expectOp(scatter1d("add", 0, "s32[4]"),
           {"s32[4] (10, 20, 30, 40)", "s32[4,1] (1, 3, 1, 0)", "s32[4] (1, 2, 3, 4)"},
           {"s32[4] (14, 24, 30, 42)"});
  expectOp(scatter1d("subtract", 0, "s32[2]"),
           {"s32[2] (10, 20)", "s32[2,1] (0, 0)", "s32[2] (1, 2)"}, {"s32[2] (7, 20)"});
}

TEST(Scatter, RoundsAtEveryUpdate) {
  expectOp(scatter1d("add", 0, "bf16[1]"),
           {"bf16[1] (0)", "s32[600,1] splat(0)", "bf16[600] splat(1)"}, {"bf16[1] (256)"});
}

TEST(Scatter, SkipsWindowsThatAreNotWhollyInside) {
  for (auto [start, want] : {std::pair{0, "(1, 2, 3, 0, 0)"},
                             {2, "(0, 0, 1, 2, 3)"},
                             {3, "(0, 0, 0, 0, 0)"},
                             {-1, "(0, 0, 0, 0, 0)"}})
    expectOp(scatter1d("add", 1, "s32[5]"),
             {"s32[5] splat(0)", cat("s32[1,1] (", start, ")"), "s32[1,3] (1, 2, 3)"},
             {cat("s32[5] ", want)});
}

TEST(Scatter, SeveralArraysTogether) {
  expectOp(
      "scatter(%0, %1, %2, %3, %4) {inserted_window_dims = [0], "
      "scatter_dims_to_operand_dims = [0], index_vector_dim = 1} "
      "body(%a: s32[], %b: f32[], %c: s32[], %d: f32[]) {\n%e = add(%a, %c) : s32[]\n"
      "%f = multiply(%b, %d) : f32[]\nreturn %e, %f\n} : s32[2], f32[2]",
      {"s32[2] (1, 2)", "f32[2] (3, 4)", "s32[1,1] (1)", "s32[1] (10)", "f32[1] (10)"},
      {"s32[2] (1, 12)", "f32[2] (3, 40)"});
}

TEST(Scatter, BatchingDimensions) {
  expectOp(
      "scatter(%0, %1, %2) {inserted_window_dims = [1], input_batching_dims = [0], "
      "scatter_indices_batching_dims = [0], scatter_dims_to_operand_dims = [1], "
      "index_vector_dim = 1} " +
          combineWith("add", "s32") + " : s32[2,3]",
      {"s32[2,3] splat(0)", "s32[2,1] (2, 0)", "s32[2] (5, 6)"}, {"s32[2,3] (0, 0, 5, 6, 0, 0)"});
}

}  // namespace
}  // namespace tercel::eval
