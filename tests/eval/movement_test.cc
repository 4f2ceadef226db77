#include <gtest/gtest.h>

#include "program.h"

namespace tercel::eval {
namespace {

TEST(Iota, CountsAlongADimensionInAnyType) {
  expectOp("iota() {iota_dimension = 0} : s32[2,3]", {}, {"s32[2,3] (0, 0, 0, 1, 1, 1)"});
  expectOp("iota() {iota_dimension = 1} : c64[1,3]", {}, {"c64[1,3] ((0, 0), (1, 0), (2, 0))"});
  Result<Literals> wrapped = evaluateText("iota() {iota_dimension = 0} : s8[300]", {});
  ASSERT_TRUE(wrapped.ok());
  EXPECT_EQ((*wrapped)[0].at<int8_t>(128), -128);
  EXPECT_EQ((*wrapped)[0].at<int8_t>(257), 1);
  Result<Literals> halves = evaluateText("iota() {iota_dimension = 0} : bf16[300]", {});
  ASSERT_TRUE(halves.ok());
  EXPECT_EQ((*halves)[0].number(257), 256);  // ties to even
  EXPECT_EQ((*halves)[0].number(259), 260);
}

TEST(Broadcast, StretchesDimensionsOfSizeOne) {
  expectOp("broadcast_in_dim(%0) {broadcast_dimensions = [0, 2]} : s32[2,2,3]", {"s32[2,1] (1, 2)"},
           {"s32[2,2,3] (1, 1, 1, 1, 1, 1, 2, 2, 2, 2, 2, 2)"});
  expectOp("broadcast_in_dim(%0) {broadcast_dimensions = [1]} : s32[2,3]", {"s32[3] (1, 2, 3)"},
           {"s32[2,3] (1, 2, 3, 1, 2, 3)"});
  expectOp("broadcast_in_dim(%0) {broadcast_dimensions = []} : f16[3]", {"f16[] (1.5)"},
           {"f16[3] splat(1.5)"});
}

TEST(Transpose, PermutesDimensions) {
  expectOp("transpose(%0) {permutation = [1, 0]} : s32[3,2]", {"s32[2,3] (1, 2, 3, 4, 5, 6)"},
           {"s32[3,2] (1, 4, 2, 5, 3, 6)"});
  expectOp("transpose(%0) {permutation = [2, 0, 1]} : c128[2,1,2]",
           {"c128[1,2,2] ((1, 0), (2, 0), (3, 0), (4, 0))"},
           {"c128[2,1,2] ((1, 0), (3, 0), (2, 0), (4, 0))"});
}

TEST(Reverse, FlipsDimensions) {
  std::string x = "u8[2,3] (1, 2, 3, 4, 5, 6)";
  expectOp("reverse(%0) {dimensions = [1]} : u8[2,3]", {x}, {"u8[2,3] (3, 2, 1, 6, 5, 4)"});
  expectOp("reverse(%0) {dimensions = [0, 1]} : u8[2,3]", {x}, {"u8[2,3] (6, 5, 4, 3, 2, 1)"});
}

TEST(AffineSlice, StartsAndSteps) {
  std::string x = "u8[2,3] (1, 2, 3, 4, 5, 6)";
  expectOp("affine_slice(%0) {start_indices = [0, 0], steps = [0, 0, 1, 1]} : u8[2,2]", {x},
           {"u8[2,2] (1, 2, 2, 3)"});
  expectOp("affine_slice(%0) {start_indices = [1, 2], steps = [-1, -1]} : u8[2]", {x},
           {"u8[2] (6, 2)"});
  expectOp("affine_slice(%0) {start_indices = [9, 9], steps = [1, 1]} : u8[0]", {x}, {"u8[0] ()"});
}

TEST(Slice, StartsLimitsStrides) {
  expectOp(
      "slice(%0) {start_indices = [0, 1], limit_indices = [2, 4], strides = [1, 2]} : "
      "s16[2,2]",
      {"s16[2,4] (1, 2, 3, 4, 5, 6, 7, 8)"}, {"s16[2,2] (2, 4, 6, 8)"});
  expectOp("slice(%0) {start_indices = [2], limit_indices = [2], strides = [1]} : s16[0]",
           {"s16[3] (1, 2, 3)"}, {"s16[0] ()"});
}

TEST(DynamicSlice, ClampsItsStarts) {
  std::string x = "s32[5] (0, 1, 2, 3, 4)";
  auto op = "dynamic_slice(%0, %1) {slice_sizes = [2]} : s32[2]";
  expectOp(op, {x, "s32[] (1)"}, {"s32[2] (1, 2)"});
  expectOp(op, {x, "s32[] (-7)"}, {"s32[2] (0, 1)"});
  expectOp(op, {x, "s8[] (100)"}, {"s32[2] (3, 4)"});
  expectOp(op, {x, "u64[] (18446744073709551615)"}, {"s32[2] (3, 4)"});
}

TEST(DynamicUpdateSlice, ClampsItsStarts) {
  std::string x = "s32[2,3] (0, 1, 2, 3, 4, 5)", update = "s32[1,2] (8, 9)";
  auto op = "dynamic_update_slice(%0, %1, %2, %3) : s32[2,3]";
  expectOp(op, {x, update, "s32[] (1)", "s32[] (0)"}, {"s32[2,3] (0, 1, 2, 8, 9, 5)"});
  expectOp(op, {x, update, "s32[] (-1)", "s32[] (9)"}, {"s32[2,3] (0, 8, 9, 3, 4, 5)"});
}

TEST(Pad, EdgesMayCropAndTheInteriorDilates) {
  auto pad = [](int low, int high, int interior, int size) {
    return cat("pad(%0, %1) {edge_padding_low = [", low, "], edge_padding_high = [", high,
               "], interior_padding = [", interior, "]} : s32[", size, "]");
  };
  Texts args = {"s32[3] (1, 2, 3)", "s32[] (9)"};
  expectOp(pad(1, 2, 0, 6), args, {"s32[6] (9, 1, 2, 3, 9, 9)"});
  expectOp(pad(0, 0, 1, 5), args, {"s32[5] (1, 9, 2, 9, 3)"});
  expectOp(pad(-1, 1, 1, 5), args, {"s32[5] (9, 2, 9, 3, 9)"});
  expectOp(pad(-2, -2, 1, 1), args, {"s32[1] (2)"});
  expectOp(pad(-1, 0, 2, 6), args, {"s32[6] (9, 9, 2, 9, 9, 3)"});
  expectOp(pad(-3, 3, 0, 3), args, {"s32[3] (9, 9, 9)"});
  expectOp(pad(-3, 0, 0, 0), args, {"s32[0] ()"});
}

TEST(Concatenate, AlongAnyDimension) {
  expectOp("concatenate(%0, %1, %2) {dimension = 1} : s32[2,4]",
           {"s32[2,1] (1, 2)", "s32[2,0] ()", "s32[2,3] (3, 4, 5, 6, 7, 8)"},
           {"s32[2,4] (1, 3, 4, 5, 2, 6, 7, 8)"});
}

TEST(Reshape, KeepsRowMajorOrder) {
  expectOp("reshape(%0) : f32[3,2]", {"f32[2,3] (1, 2, 3, 4, 5, 6)"},
           {"f32[3,2] (1, 2, 3, 4, 5, 6)"});
  expectOp("reshape(%0) : pred[]", {"pred[1,1] (true)"}, {"pred[] (true)"});
}

TEST(GetDimensionSize, IsAnS32) {
  expectOp("get_dimension_size(%0) {dimension = 1} : s32[]", {"f32[2,3] splat(0)"}, {"s32[] (3)"});
}

}  // namespace
}  // namespace tercel::eval
