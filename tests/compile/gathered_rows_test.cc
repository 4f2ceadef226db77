// Rows that a gather finds are loaded as they lie, not by their elements, however short they are.
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

TEST(GatheredRows, AreLoadedWhole) {
  for (std::string_view type : {"s8", "f16", "f32"}) {
    for (int64_t length : {4, 8, 16, 32}) {
      const std::string text = rows(type, length);
      EXPECT_EQ(countInKernel(moduleOf(text), " gather "), 0) << text;
      expectNative(text);
    }
  }
}

}  // namespace
}  // namespace tercel::compiler
