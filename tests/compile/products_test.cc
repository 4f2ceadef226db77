// Products of few rows, whose columns stream past: what is unpacked for a block of the sum stays in
// its place.
#include <gtest/gtest.h>

#include "compile/native.h"

namespace tercel::compiler {
namespace {

std::string product(std::string_view type, int64_t rows, int64_t sum, int64_t columns) {
  return cat("func @main(%a: ", type, "[", rows, ",", sum, "], %b: ", type, "[", sum, ",", columns,
             "]) -> (", type, "[", rows, ",", columns, "]) {\n",
             "  %r = dot_general(%a, %b) {lhs_batching_dimensions = [], ",
             "rhs_batching_dimensions = [], lhs_contracting_dimensions = [1], ",
             "rhs_contracting_dimensions = [0]} : ", type, "[", rows, ",", columns, "]\n  return %r\n}\n");
}

TEST(Products, OfFewRowsStayInTheirScratchMemory) {
  for (std::string_view type : {"f16", "bf16", "f32", "f64", "s8"})
    for (int64_t rows : {1, 2, 3, 5})
      for (int64_t sum : {520, 999, 1000, 1001})
        expectNative(product(type, rows, sum, 1032));
}

}  // namespace
}  // namespace tercel::compiler
