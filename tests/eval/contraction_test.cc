#include <gtest/gtest.h>

#include "program.h"

namespace tercel::eval {
namespace {

std::string dot(std::string_view lhs_batch, std::string_view rhs_batch, std::string_view lhs,
                std::string_view rhs, std::string_view type) {
  return cat("dot_general(%0, %1) {lhs_batching_dimensions = ", lhs_batch,
             ", rhs_batching_dimensions = ", rhs_batch, ", lhs_contracting_dimensions = ", lhs,
             ", rhs_contracting_dimensions = ", rhs, "} : ", type);
}

std::string inner(std::string_view type) { return dot("[]", "[]", "[0]", "[0]", type); }

TEST(DotGeneral, MatrixProduct) {
  expectOp(dot("[]", "[]", "[1]", "[0]", "f32[2,2]"),
           {"f32[2,3] (1, 2, 3, 4, 5, 6)", "f32[3,2] (1, 2, 3, 4, 5, 6)"},
           {"f32[2,2] (22, 28, 49, 64)"});
}

TEST(DotGeneral, BatchAndFreeDimensionsInAnyPlace) {
  // result[b, i, j] = sum over k of lhs[k, b, i] rhs[j, k, b]
  expectOp(dot("[1]", "[2]", "[0]", "[1]", "s32[2,1,2]"),
           {"s32[2,2,1] (1, 2, 3, 4)", "s32[2,2,2] (1, 2, 3, 4, 5, 6, 7, 8)"},
           {"s32[2,1,2] (10, 26, 20, 44)"});
}

TEST(DotGeneral, NothingToContract) {
  expectOp(dot("[]", "[]", "[]", "[]", "s32[2,3]"), {"s32[2] (1, 2)", "s32[3] (3, 4, 5)"},
           {"s32[2,3] (3, 4, 5, 6, 8, 10)"});
  expectOp(inner("f32[]"), {"f32[0] ()", "f32[0] ()"}, {"f32[] (0)"});
  expectOp(dot("[]", "[]", "[1]", "[0]", "f32[2,2]"), {"f32[2,0] ()", "f32[0,2] ()"},
           {"f32[2,2] splat(0)"});
}

TEST(DotGeneral, AccumulatesInAWiderTypeAndIntegersWrap) {
  expectOp(inner("f32[]"), {"f32[3] (1e8, 1, -1e8)", "f32[3] (1, 1, 1)"}, {"f32[] (1)"});
  expectOp(inner("bf16[]"), {"bf16[3000] splat(1)", "bf16[3000] splat(1)"}, {"bf16[] (3008)"});
  expectOp(inner("f64[]"), {"f64[3] (1e16, 1, -1e16)", "f64[3] (1, 1, 1)"}, {"f64[] (1)"});
  expectOp(inner("s8[]"), {"s8[200] splat(1)", "s8[200] splat(1)"}, {"s8[] (-56)"});
  expectOp(inner("s32[]"), {"s8[2] (-128, 127)", "s8[2] (-128, 127)"}, {"s32[] (32513)"});
  expectOp(inner("s32[]"), {"s8[2] (-128, 127)", "u16[2] (65535, 1)"}, {"s32[] (-8388353)"});
  expectOp(inner("f32[]"), {"bf16[300] splat(1)", "bf16[300] splat(1)"}, {"f32[] (300)"});
  expectOp(inner("pred[]"), {"pred[2] (true, true)", "pred[2] (false, true)"}, {"pred[] (true)"});
  expectOp(inner("c64[]"), {"c64[2] ((1, 2), (0, 1))", "c64[2] ((3, -1), (0, 1))"},
           {"c64[] ((4, 5))"});
}

struct Conv {
  std::string strides = "[1]", padding = "[0, 0]", lhs_dilation = "[1]", rhs_dilation = "[1]",
              reversal = "[0]";
  int feature_groups = 1, batch_groups = 1;
};

// Batch, feature, one spatial dimension; a kernel of output feature, input feature, space.
std::string conv(const Conv& c, std::string_view type) {
  return cat("convolution(%0, %1) {window_strides = ", c.strides, ", padding = ", c.padding,
             ", lhs_dilation = ", c.lhs_dilation, ", rhs_dilation = ", c.rhs_dilation,
             ", window_reversal = ", c.reversal,
             ", input_batch_dimension = 0, input_feature_dimension = 1, "
             "input_spatial_dimensions = [2], kernel_input_feature_dimension = 1, "
             "kernel_output_feature_dimension = 0, kernel_spatial_dimensions = [2], "
             "output_batch_dimension = 0, output_feature_dimension = 1, "
             "output_spatial_dimensions = [2], feature_group_count = ",
             c.feature_groups, ", batch_group_count = ", c.batch_groups, "} : ", type);
}

TEST(Convolution, IsCorrelation) {
  Texts args = {"s32[1,1,4] (1, 2, 3, 4)", "s32[1,1,2] (10, 1)"};
  expectOp(conv({}, "s32[1,1,3]"), args, {"s32[1,1,3] (12, 23, 34)"});
  expectOp(conv({.reversal = "[1]"}, "s32[1,1,3]"), args, {"s32[1,1,3] (21, 32, 43)"});
}

TEST(Convolution, StridesPaddingDilation) {
  Texts args = {"s32[1,1,4] (1, 2, 3, 4)", "s32[1,1,2] (10, 1)"};
  expectOp(conv({.strides = "[2]", .padding = "[1, 1]"}, "s32[1,1,3]"), args,
           {"s32[1,1,3] (1, 23, 40)"});
  expectOp(conv({.padding = "[-1, 0]"}, "s32[1,1,2]"), args, {"s32[1,1,2] (23, 34)"});
  expectOp(conv({.rhs_dilation = "[2]"}, "s32[1,1,2]"), args, {"s32[1,1,2] (13, 24)"});
  expectOp(conv({.lhs_dilation = "[2]"}, "s32[1,1,6]"), args, {"s32[1,1,6] (10, 2, 20, 3, 30, 4)"});
}

TEST(Convolution, FeatureGroups) {
  expectOp(conv({.feature_groups = 2}, "s32[1,2,2]"),
           {"s32[1,2,2] (1, 2, 3, 4)", "s32[2,1,1] (10, 100)"}, {"s32[1,2,2] (10, 20, 300, 400)"});
}

TEST(Convolution, BatchGroups) {
  expectOp(conv({.batch_groups = 2}, "s32[1,2,2]"),
           {"s32[2,1,2] (1, 2, 3, 4)", "s32[2,1,1] (10, 100)"}, {"s32[1,2,2] (10, 20, 300, 400)"});
}

}  // namespace
}  // namespace tercel::eval
