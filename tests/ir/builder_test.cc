#include "compiler/ir/builder.h"

#include <gtest/gtest.h>

#include "compiler/ir/text.h"
#include "compiler/ir/verifier.h"

namespace tercel::ir {
namespace {

struct Main {
  Module module;
  RegionId body;

  explicit Main(std::vector<Type> args) {
    body = module.addRegion();
    for (Type& type : args) module.addArg(body, std::move(type));
    module.functions.push_back({.name = "main", .body = body, .args = {}, .results = {}});
    module.main().args.resize(args.size());
  }
  Value arg(size_t i) { return module.region(body).args[i]; }
};

TEST(Builder, EachFormVerifies) {
  Main f({Type{Shape{DType::f32, {2, 3}}}, Type{Shape{DType::f32, {}}}});
  Builder b(f.module, f.body, f.module.addLocation("here"));
  Value x = f.arg(0);
  Value y = b.binary(OpKind::add_, x, b.splat(b.shape(x), 0.5));
  y = b.unary(OpKind::tanh_, y);
  y = b.select(b.compare(x, y, "LT", "TOTALORDER"), x, y);
  y = b.pad(y, f.arg(1), {1, 0}, {0, 0}, {0, 1});
  y = b.concatenate({y, b.broadcast(f.arg(1), Shape{DType::f32, {3, 2}}, {})}, 1);
  y = b.slice(y, {0, 1}, {3, 7}, {1, 2});
  y = b.transpose(b.reshape(y, {9}), {0});
  y = b.convert(b.bitcast(y, Shape{DType::s32, {9}}), DType::s64);
  y = b.binary(OpKind::multiply_, y, b.iota(Shape{DType::s64, {9}}, 0));
  f.module.region(f.body).results.push_back(y);
  f.module.main().results.resize(1);
  EXPECT_TRUE(verify(f.module).ok()) << verify(f.module).message();
  EXPECT_EQ(print(f.module), R"(module @module {
  func @main(%0: f32[2,3], %1: f32[]) -> (s64[9]) {
    %2 = constant() {value = f32[2,3] splat(0.5)} : f32[2,3]
    %3 = add(%0, %2) : f32[2,3]
    %4 = tanh(%3) : f32[2,3]
    %5 = compare(%0, %4) {comparison_direction = LT, compare_type = TOTALORDER} : pred[2,3]
    %6 = select(%5, %0, %4) : f32[2,3]
    %7 = pad(%6, %1) {edge_padding_low = [1, 0], edge_padding_high = [0, 0], interior_padding = [0, 1]} : f32[3,5]
    %8 = broadcast_in_dim(%1) {broadcast_dimensions = []} : f32[3,2]
    %9 = concatenate(%7, %8) {dimension = 1} : f32[3,7]
    %10 = slice(%9) {start_indices = [0, 1], limit_indices = [3, 7], strides = [1, 2]} : f32[3,3]
    %11 = reshape(%10) : f32[9]
    %12 = transpose(%11) {permutation = [0]} : f32[9]
    %13 = bitcast_convert(%12) : s32[9]
    %14 = convert(%13) : s64[9]
    %15 = iota() {iota_dimension = 0} : s64[9]
    %16 = multiply(%14, %15) : s64[9]
    return %16
  }
}
)");
  EXPECT_EQ(f.module.location(f.module.def(y)->loc), "here");
}

TEST(Builder, SplatOfEachType) {
  Main f({});
  Builder b(f.module, f.body);
  for (size_t i = 0; i < kDTypeCount; ++i) {
    Value v = b.splat(Shape{static_cast<DType>(i), {2}}, 1);
    EXPECT_EQ(f.module.def(v)->literal().number(1), 1);
  }
  EXPECT_TRUE(verify(f.module).ok());
}

TEST(Builder, WrongUseIsABug) {
  Main f({Type{Shape{DType::f32, {2}}}, Type{Shape{DType::s32, {2}}}});
  Builder b(f.module, f.body);
  EXPECT_THROW(b.binary(OpKind::add_, f.arg(0), f.arg(1)), CheckFailure);
  EXPECT_THROW(b.reshape(f.arg(0), {3}), CheckFailure);
  EXPECT_THROW(b.build(OpKind::iota_, {}), CheckFailure);
  EXPECT_TRUE(f.module.region(f.body).ops.empty());
}

TEST(PrintOp, OneLineWithTypes) {
  Main f({Type{Shape{DType::f32, {2}}}});
  Builder b(f.module, f.body);
  Value sum = b.binary(OpKind::add_, f.arg(0), f.arg(0));
  EXPECT_EQ(printOp(f.module, f.module.value(sum).def),
            "%1 = add(%0: f32[2], %0: f32[2]) : f32[2]");
  std::vector<std::byte> bytes(4000);
  bytes[0] = std::byte{1};
  Value big = b.constant(Literal(Shape{DType::f32, {1000}}, std::move(bytes)));
  EXPECT_EQ(printOp(f.module, f.module.value(big).def),
            "%2 = constant() {value = f32[1000] ...} : f32[1000]");
}

}  // namespace
}  // namespace tercel::ir
