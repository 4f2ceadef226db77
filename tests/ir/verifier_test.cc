#include "compiler/ir/verifier.h"

#include <gtest/gtest.h>

#include <functional>

#include "compiler/ir/op_attrs.h"
#include "compiler/ir/op_use.h"
#include "compiler/ir/text.h"
#include "module_text.h"

namespace tercel::ir {
namespace {

constexpr std::string_view kText = R"(module @m {
  func @main(%0: f32[4] {aliasing_output = 0}, %1: pred[]) -> (f32[4]) {
    %2 = negate(%0) : f32[4]
    %3 = if(%1) true() {
      %4 = add(%2, %2) : f32[4]
      return %4
    } false() {
      return %0
    } : f32[4]
    return %3
  }
}
)";

Module example() {
  auto module = parse(kText);
  TERCEL_CHECK(module.ok(), module.status().message());
  return std::move(*module);
}
Region& mainBody(Module& m) { return m.region(m.main().body); }
Op& ifOp(Module& m) { return m.op(mainBody(m).ops[1]); }

std::string afterBreaking(const std::function<void(Module&)>& change) {
  Module module = example();
  EXPECT_TRUE(verify(module).ok()) << verify(module).message();
  change(module);
  EXPECT_FALSE(print(module).empty());  // a broken module must print, for dumps
  return verify(module).message();
}

TEST(Verifier, UseBeforeDefinition) {
  std::string error =
      afterBreaking([](Module& m) { std::swap(mainBody(m).ops[0], mainBody(m).ops[1]); });
  EXPECT_TRUE(mentions(error, "an operand, is not defined before its use")) << error;
  EXPECT_TRUE(mentions(error, "add(")) << error;
}

TEST(Verifier, ValueOfAnInnerRegion) {
  std::string error = afterBreaking([](Module& m) {
    Op& op = m.op(m.region(ifOp(m).regions[0]).ops[0]);
    mainBody(m).results[0] = op.result();
  });
  EXPECT_TRUE(mentions(error, "a region's result, is not defined")) << error;
}

TEST(Verifier, IdsOutOfRange) {
  EXPECT_TRUE(mentions(afterBreaking([](Module& m) { ifOp(m).operands[0] = Value{9999}; }),
                       "an operand is no value"));
  EXPECT_TRUE(mentions(afterBreaking([](Module& m) { mainBody(m).results[0] = Value{}; }),
                       "a region's result is no value"));
}

TEST(Verifier, OneOpInTwoPlaces) {
  EXPECT_TRUE(
      mentions(afterBreaking([](Module& m) { mainBody(m).ops.push_back(mainBody(m).ops[0]); }),
               "is in two places"));
}

TEST(Verifier, OneRegionInTwoPlaces) {
  EXPECT_TRUE(mentions(afterBreaking([](Module& m) { ifOp(m).regions[1] = ifOp(m).regions[0]; }),
                       "is in two places"));
}

TEST(Verifier, ResultsAgreeWithTheirOp) {
  EXPECT_TRUE(mentions(afterBreaking([](Module& m) { m.setIndex(ifOp(m).result(), 1); }),
                       "does not agree with its definition"));
}

TEST(Verifier, TypesAreAsInferred) {
  std::string error = afterBreaking([](Module& m) {
    m.setType(mainBody(m).args[0], Type{Shape{DType::f32, {5}}});
  });
  EXPECT_TRUE(mentions(error, "not the declared (f32[4])")) << error;
}

TEST(Verifier, ArgumentTypesAreSound) {
  std::string error = afterBreaking([](Module& m) {
    m.addArg(m.main().body, Type{Shape{DType::f32, {-1}}});
  });
  EXPECT_TRUE(mentions(error, "negative")) << error;
}

TEST(Verifier, ArgumentDescriptions) {
  EXPECT_TRUE(mentions(afterBreaking([](Module& m) { m.main().args.pop_back(); }),
                       "1 argument and 1 result descriptions"));
}

TEST(Verifier, Donation) {
  EXPECT_TRUE(mentions(afterBreaking([](Module& m) { m.main().args[0].aliasing_output = 1; }),
                       "does not exist"));
  EXPECT_TRUE(mentions(afterBreaking([](Module& m) { m.main().args[1].aliasing_output = 0; }),
                       "is aliased already"));
  EXPECT_TRUE(mentions(afterBreaking([](Module& m) {
                         m.main().args[0].aliasing_output = -1;
                         m.main().args[1].aliasing_output = 0;
                       }),
                       "of another type"));
}

TEST(Verifier, AttributesBelongToTheirOp) {
  EXPECT_TRUE(mentions(afterBreaking([](Module& m) { ifOp(m).set(AttrKey::padding, Ints{}); }),
                       "padding is no attribute of if"));
  EXPECT_TRUE(takesAttr(OpKind::sort_, AttrKey::dimension));
  EXPECT_FALSE(takesAttr(OpKind::negate_, AttrKey::dimension));
}

std::string errorOfFunctions(std::string_view functions) {
  return errorOf(cat("module @m {\n", functions, "}\n"));
}

TEST(Verifier, Calls) {
  constexpr std::string_view kMain =
      "func @main(%0: f32[]) -> (f32[]) { %1 = call(%0) {callee = f} : f32[] return %1 }\n";
  EXPECT_TRUE(mentions(errorOfFunctions(kMain), "there is no function @f"));
  EXPECT_EQ(errorOfFunctions(cat(kMain, "func @f(%0: f32[]) -> (f32[]) { return %0 }")), "");
  EXPECT_TRUE(mentions(errorOfFunctions(cat(kMain, "func @f(%0: s32[]) -> (s32[]) { return %0 }")),
                       "@f is (s32[]) -> (s32[])"));
  EXPECT_TRUE(mentions(errorOfFunctions(cat(kMain, "func @f(%0: f32[]) -> () { return }")),
                       "@f is (f32[]) -> ()"));
}

TEST(Verifier, RecursionIsRefused) {
  constexpr std::string_view kMain = "func @main() -> () { call() {callee = f} return }\n";
  EXPECT_TRUE(mentions(errorOfFunctions("func @main() -> () { call() {callee = main} return }"),
                       "@main is called from a cycle"));
  EXPECT_TRUE(mentions(
      errorOfFunctions(cat(kMain, "func @f() -> () { call() {callee = g} return }\n",
                           "func @g() -> () { call() {callee = f} call() {callee = g} return }")),
      "is called from a cycle"));
  // Twice the same function is no cycle.
  EXPECT_EQ(errorOfFunctions(cat(kMain, "func @f() -> () { call() {callee = g} call() {callee = g}",
                                 " return }\nfunc @g() -> () { return }")),
            "");
}

TEST(Verifier, MainIsThere) {
  EXPECT_TRUE(mentions(errorOfFunctions("func @f() -> () { return }"), "no function @main"));
}

}  // namespace
}  // namespace tercel::ir
