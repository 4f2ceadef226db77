// Lines that a scatter adds, of any length: whole vectors and what is left beside them.
#include <gtest/gtest.h>

#include "compile/native.h"

namespace tercel::compiler {
namespace {

std::string added(std::string_view type, int64_t length) {
  const std::string array = cat(type, "[20,", length, "]"), scalar = cat(type, "[]");
  return cat("func @main(%a: ", array, ", %i: s32[50,1], %u: ", type, "[50,", length, "]) -> (",
             array, ") {\n  %r = scatter(%a, %i, %u) {update_window_dims = [1], ",
             "inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], ",
             "index_vector_dim = 1} body(%p: ", scalar, ", %q: ", scalar, ") {\n",
             "    %s = add(%p, %q) : ", scalar, "\n    return %s\n  } : ", array,
             "\n  return %r\n}\n");
}

TEST(Scatters, AddLinesOfAnyLength) {
  for (std::string_view type : {"u8", "f16", "s32", "f64"})
    for (int64_t length : {1, 2, 3, 5, 7, 9, 10, 12, 15, 16, 17, 20, 31, 33, 48, 64, 100, 129, 130,
                           144, 256, 515})
      expectNative(added(type, length));
}

TEST(Scatters, StoreNoPartsOfWideVectors) {
  for (int64_t length : {3, 5, 6, 7, 9, 10, 12, 17, 18, 20, 33, 40, 100})
    EXPECT_EQ(countInKernel(moduleOf(added("f32", length)), "masked"), 0) << length;
}

TEST(Scatters, ShareLinesOutInWholeLinesOfTheCache) {
  const std::pair<int64_t, int> tasks[] = {{16, 1}, {20, 1}, {32, 2}, {48, 3}, {64, 4}, {256, 4},
                                           {768, 6}, {130, 2}};
  for (const auto& [length, count] : tasks)
    EXPECT_EQ(countInKernel(moduleOf(added("f32", length)), cat("tasks = ", count, ",")), 1)
        << length;
}

}  // namespace
}  // namespace tercel::compiler
