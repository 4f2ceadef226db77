// Modules with a planted bug shrink to the bug.
#include <gtest/gtest.h>

#include "compiler/ir/text.h"
#include "compiler/ir/verifier.h"
#include "tools/edits.h"
#include "tools/failure.h"
#include "tools/reducer.h"

namespace tercel::tools {
namespace {

using ir::Module;
using ir::OpKind;

Module moduleOf(std::string_view text) {
  Result<Module> module = ir::parse(text);
  TERCEL_CHECK(module.ok(), module.status().message());
  TERCEL_CHECK(ir::verify(*module).ok(), ir::verify(*module).message());
  return std::move(*module);
}

// A loop, a branch and arithmetic around one sort of two arrays by descending order.
constexpr std::string_view kProgram = R"(module @m {
  func @helper(%0: f32[4,6]) -> (f32[4,6]) {
    %1 = tanh(%0) : f32[4,6]
    return %1
  }
  func @main(%0: f32[4,6], %1: s32[4,6], %2: pred[], %3: f32[6,4]) -> (f32[4,6], s32[4,6], f32[24]) {
    %4 = call(%0) {callee = helper} : f32[4,6]
    %5 = transpose(%3) {permutation = [1, 0]} : f32[4,6]
    %6 = if(%2) true() {
      %7 = add(%4, %5) : f32[4,6]
      return %7
    } false() {
      %8, %9 = sort(%4, %1) {dimension = 1, is_stable = true} body(%10: f32[], %11: f32[], %12: s32[], %13: s32[]) {
        %14 = compare(%10, %11) {comparison_direction = GT} : pred[]
        return %14
      } : f32[4,6], s32[4,6]
      return %8
    } : f32[4,6]
    %15 = constant() {value = s32[] splat(3)} : s32[]
    %16 = constant() {value = s32[] splat(0)} : s32[]
    %17, %18 = while(%16, %6) cond(%19: s32[], %20: f32[4,6]) {
      %21 = compare(%19, %15) {comparison_direction = LT} : pred[]
      return %21
    } body(%22: s32[], %23: f32[4,6]) {
      %24 = constant() {value = s32[] splat(1)} : s32[]
      %25 = add(%22, %24) : s32[]
      %26 = multiply(%23, %0) : f32[4,6]
      return %25, %26
    } : s32[], f32[4,6]
    %27 = reshape(%18) : f32[24]
    return %18, %1, %27
  }
}
)";

bool has(const Module& module, OpKind kind) {
  for (ir::OpId id : opsOfMain(module))
    if (module.op(id).kind == kind) return true;
  return false;
}

TEST(Reduce, LeavesTheOpThatFails) {
  const Module small =
      reduce(moduleOf(kProgram), [](const Module& m) { return has(m, OpKind::sort_); });
  EXPECT_EQ(ir::print(small), R"(module @m {
  func @main(%0: pred[], %1: f32[1,1]) -> (f32[1,1]) {
    %2 = sort(%1) {dimension = 1, is_stable = true} body(%3: f32[], %4: f32[]) {
      return %0
    } : f32[1,1]
    return %2
  }
}
)");
}

TEST(Reduce, KeepsWhatTheFailureNeeds) {
  // Wrong only for rows of at least four that a product reads.
  const Module small = reduce(moduleOf(kProgram), [](const Module& m) {
    for (ir::OpId id : opsOfMain(m)) {
      const ir::Op& op = m.op(id);
      if (op.kind != OpKind::multiply_) continue;
      const Dims& dims = m.shape(op.result()).dims;
      if (dims.size() == 2 && dims[1] >= 4) return true;
    }
    return false;
  });
  EXPECT_EQ(ir::print(small), R"(module @m {
  func @main(%0: f32[1,4], %1: f32[1,4]) -> (f32[1,4]) {
    %2 = multiply(%1, %0) : f32[1,4]
    return %2
  }
}
)");
}

TEST(Reduce, MakesConstantsAndAttributesPlain) {
  const Module small = reduce(moduleOf(R"(module @m {
  func @main(%0: f32[9,9]) -> (f32[4,4]) {
    %1 = constant() {value = f32[3] (1, 2, 3)} : f32[3]
    %2 = broadcast_in_dim(%1) {broadcast_dimensions = [0]} : f32[3,9]
    %3 = concatenate(%0, %2, %0) {dimension = 0} : f32[21,9]
    %4 = slice(%3) {start_indices = [2, 1], limit_indices = [9, 8], strides = [2, 2]} : f32[4,4]
    return %4
  }
}
)"), [](const Module& m) { return has(m, OpKind::slice_) && has(m, OpKind::constant_); });
  EXPECT_EQ(opsOfMain(small).size(), 2u) << ir::print(small);
  EXPECT_NE(ir::print(small).find("splat(0)"), std::string::npos) << ir::print(small);
}

TEST(Reduce, StopsWhereNothingFails) {
  const Module module = moduleOf(kProgram);
  EXPECT_EQ(ir::print(reduce(module, [](const Module&) { return false; })), ir::print(module));
}

// In a child process: results, refusals and what they say.
TEST(Failure, TellsKindsApart) {
  EXPECT_EQ(failureOf(moduleOf(kProgram), {}).kind, Failure::Kind::none);
  const Module unknown = moduleOf(R"(module @m {
  func @main(%0: f32[2]) -> (f32[2]) {
    %1 = custom_call(%0) {call_target_name = nobody} : f32[2]
    return %1
  }
}
)");
  const Failure refused = failureOf(unknown, {});
  EXPECT_EQ(refused.kind, Failure::Kind::error);
  EXPECT_NE(refused.message.find("nobody"), std::string::npos) << refused.message;
  EXPECT_EQ(failureOf(unknown, {.pass = "dce"}).kind, Failure::Kind::error);
  const Module endless = moduleOf(R"(module @m {
  func @main(%0: pred[]) -> (pred[]) {
    %1 = while(%0) cond(%2: pred[]) {
      %3 = constant() {value = pred[] splat(true)} : pred[]
      return %3
    } body(%4: pred[]) {
      return %4
    } : pred[]
    return %1
  }
}
)");
  EXPECT_EQ(failureOf(endless, {.seconds = 1}).kind, Failure::Kind::hang);
}

}  // namespace
}  // namespace tercel::tools
