// Windows along the dimension that memory lies along: vectors of it are loaded, not gathered.
#include <gtest/gtest.h>

#include "compile/native.h"

namespace tercel::compiler {
namespace {

// Of a convolution's weights, from its images and the gradient of its result.
std::string weightGradient(std::string_view type, int64_t features, int64_t width) {
  return cat("func @main(%x: ", type, "[4,6,12,", width + 2, "], %g: ", type, "[4,", features,
             ",10,", width, "]) -> (", type, "[", features, ",6,3,3]) {\n",
             "  %r = convolution(%x, %g) {window_strides = [1, 1], padding = [0, 0, 0, 0], ",
             "lhs_dilation = [1, 1], rhs_dilation = [1, 1], window_reversal = [0, 0], ",
             "input_batch_dimension = 1, input_feature_dimension = 0, ",
             "input_spatial_dimensions = [2, 3], kernel_input_feature_dimension = 0, ",
             "kernel_output_feature_dimension = 1, kernel_spatial_dimensions = [2, 3], ",
             "output_batch_dimension = 1, output_feature_dimension = 0, ",
             "output_spatial_dimensions = [2, 3], feature_group_count = 1, ",
             "batch_group_count = 1} : ", type, "[", features, ",6,3,3]\n  return %r\n}\n");
}

TEST(Windows, OfFewFeaturesAreAddedUpAlongSpace) {
  for (std::string_view type : {"f32", "bf16", "f64"}) {
    for (int64_t features : {1, 3, 7}) {
      for (int64_t width : {16, 25}) {
        const std::string text = weightGradient(type, features, width);
        EXPECT_EQ(countInKernel(moduleOf(text), " gather "), 0) << text;
        expectNative(text);
      }
    }
  }
}

}  // namespace
}  // namespace tercel::compiler
