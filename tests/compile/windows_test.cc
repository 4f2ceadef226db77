// Windows along the dimension that memory lies along: vectors of it are loaded, not gathered.
#include <gtest/gtest.h>

#include "compile/native.h"

namespace tercel::compiler {
namespace {

// Of a convolution's weights, from its images and the gradient of its result.
std::string weightGradient(std::string_view type, int64_t features, int64_t width,
                           int64_t stride) {
  return cat("func @main(%x: ", type, "[4,6,12,", stride * (width - 1) + 3, "], %g: ", type, "[4,",
             features,
             ",10,", width, "]) -> (", type, "[", features, ",6,3,3]) {\n",
             "  %r = convolution(%x, %g) {window_strides = [1, 1], padding = [0, 0, 0, 0], ",
             "lhs_dilation = [1, 1], rhs_dilation = [1, ", stride, "], window_reversal = [0, 0], ",
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
        for (int64_t stride : {1, 2}) {
          const std::string text = weightGradient(type, features, width, stride);
          EXPECT_EQ(countInKernel(moduleOf(text), " gather "), 0) << text;
          expectNative(text);
        }
      }
    }
  }
}

// A window's row of 5 places with 3 channels each nearly fills a vector.
TEST(Windows, OfFewChannelsAreReadAsTheyLie) {
  const std::string text =
      "func @main(%x: f32[16,31,22,3], %g: f32[16,27,18,1]) -> (f32[5,5,3,1]) {\n"
      "  %r = convolution(%x, %g) {window_strides = [1, 1], padding = [0, 0, 0, 0], "
      "lhs_dilation = [1, 1], rhs_dilation = [1, 1], window_reversal = [0, 0], "
      "input_batch_dimension = 3, input_feature_dimension = 0, "
      "input_spatial_dimensions = [1, 2], kernel_input_feature_dimension = 0, "
      "kernel_output_feature_dimension = 3, kernel_spatial_dimensions = [1, 2], "
      "output_batch_dimension = 2, output_feature_dimension = 3, "
      "output_spatial_dimensions = [0, 1], feature_group_count = 1, "
      "batch_group_count = 1} : f32[5,5,3,1]\n  return %r\n}\n";
  EXPECT_EQ(countInKernel(moduleOf(text), " gather "), 0) << text;
  expectNative(text);
}

// Several of a row in a vector, in a row with padding, too.
TEST(Windows, OfStridesAreShuffledOutOfRows) {
  for (int64_t stride : {2, 3, 4}) {
    const int64_t width = 50 * stride;
    const std::string text = cat(
        "func @main(%x: f32[8,", width, "], %i: f32[]) -> (f32[8,50]) {\n",
        "  %r = reduce_window(%x, %i) {window_dimensions = [1, ", stride + 2,
        "], window_strides = [1, ", stride, "], base_dilations = [1, 1], ",
        "window_dilations = [1, 1], padding = [0, 0, 1, 1]} body(%a: f32[], %b: f32[]) { ",
        "%q = add(%a, %b) : f32[] return %q } : f32[8,50]\n  return %r\n}\n");
    EXPECT_EQ(countInKernel(moduleOf(text), " gather "), 0) << text;
    expectNative(text);
  }
}

TEST(Windows, SelectTheirPlacesInVectors) {
  const std::string text =
      "func @main(%x: f32[6,9,41], %s: f32[6,4,20], %i: f32[]) -> (f32[6,9,41]) {\n"
      "  %r = select_and_scatter(%x, %s, %i) {window_dimensions = [1, 3, 3], "
      "window_strides = [1, 2, 2], padding = [0, 0, 0, 0, 0, 0]} body(%a: f32[], %b: f32[]) {\n"
      "    %c = compare(%a, %b) {comparison_direction = GE} : pred[]\n    return %c\n  } "
      "body(%v: f32[], %w: f32[]) {\n    %d = add(%v, %w) : f32[]\n    return %d\n  } "
      ": f32[6,9,41]\n  return %r\n}\n";
  EXPECT_GT(countInKernel(moduleOf(text), " : i1x"), 0);
  expectNative(text);
}

}  // namespace
}  // namespace tercel::compiler
