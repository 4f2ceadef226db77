#include <gtest/gtest.h>

#include <set>

#include "compiler/ir/infer.h"
#include "compiler/ir/text.h"
#include "compiler/ir/verifier.h"
#include "op_examples.h"

namespace tercel::ir {
namespace {

constexpr std::string_view kAllOps[] = {
#define OP(name, operands, regions, cls) #name,
#include "compiler/ir/ops.def"
};

TEST(RoundTrip, EveryOpHasAnExample) {
  std::set<std::string_view> shown;
  for (const OpExample& example : kOpExamples) shown.insert(example.op);
  for (std::string_view op : kAllOps) EXPECT_TRUE(shown.contains(op)) << op;
}

class Example : public testing::TestWithParam<OpExample> {};

TEST_P(Example, PrintsWhatWasParsed) {
  std::string text = moduleOf(GetParam());
  auto module = parse(text);
  ASSERT_TRUE(module.ok()) << module.status().message() << "\n" << text;
  EXPECT_EQ(print(*module), text);
}

TEST_P(Example, Verifies) {
  auto module = parse(moduleOf(GetParam()));
  ASSERT_TRUE(module.ok());
  Status status = verify(*module);
  EXPECT_TRUE(status.ok()) << status.message();
}

// Ops whose result types are free say so when nothing is declared; all others infer them.
TEST_P(Example, InfersTheDeclaredTypes) {
  constexpr OpKind kDeclared[] = {
      OpKind::bitcast_convert_,  OpKind::convert_,     OpKind::iota_,
      OpKind::affine_slice_,     OpKind::broadcast_in_dim_, OpKind::reshape_, OpKind::rng_bit_generator_,
      OpKind::custom_call_,      OpKind::dot_general_, OpKind::convolution_};
  auto module = parse(moduleOf(GetParam()));
  ASSERT_TRUE(module.ok());
  const Op& op = module->op(module->region(module->main().body).ops.back());
  ASSERT_EQ(opName(op.kind), GetParam().op);
  std::vector<Type> declared, none;
  for (Value v : op.results) declared.push_back(module->type(v));
  bool is_declared = std::ranges::find(kDeclared, op.kind) != std::end(kDeclared);
  auto types = inferTypes(*module, op.kind, op.operands, op.attrs, op.regions,
                          is_declared ? declared : none);
  ASSERT_TRUE(types.ok()) << types.status().message();
  EXPECT_EQ(*types, declared);
}

TEST(Inference, FixedOperandCountsAreChecked) {
  for (const OpExample& example : kOpExamples) {
    auto module = parse(moduleOf(example));
    ASSERT_TRUE(module.ok());
    Op& op = module->op(module->region(module->main().body).ops.back());
    if (opOperandCount(op.kind) < 0) continue;
    if (op.operands.empty())
      op.operands.push_back(module->addArg(module->main().body, Type{}));
    else
      op.operands.pop_back();
    auto types = inferTypes(*module, op.kind, op.operands, op.attrs, op.regions, {});
    EXPECT_NE(types.status().message().find(" operands, expected "), std::string::npos)
        << example.op;
  }
}

std::string exampleName(const testing::TestParamInfo<OpExample>& info) {
  return cat(info.param.op, "_", info.index);
}
INSTANTIATE_TEST_SUITE_P(Ops, Example, testing::ValuesIn(kOpExamples), exampleName);

TEST(RoundTrip, ModuleFunctionsAndLocations) {
  constexpr std::string_view kText = R"(module @"jit f" {num_partitions = 8, num_replicas = 2} {
  func @main(%0: f32[4] {aliasing_output = 0, memory_kind = "device", sharding = "{\"x\"}"}, %1: token {buffer_donor = true}) -> (f32[4] {layout_mode = "default"}, token) {
    %2 = call(%0) {callee = "odd name"} : f32[4]  loc("jit(f)/jit(main)/add \\ \0a")
    %3 = negate(%2) : f32[4]
    return %3, %1
  }
  func private @"odd name"(%0: f32[4]) -> (f32[4]) {
    return %0
  }
}
)";
  auto module = parse(kText);
  ASSERT_TRUE(module.ok()) << module.status().message();
  EXPECT_EQ(print(*module, true), kText);
  EXPECT_TRUE(verify(*module).ok());
  EXPECT_EQ(module->locations.at(0), "jit(f)/jit(main)/add \\ \n");
  EXPECT_EQ(module->main().args[0].sharding, "{\"x\"}");
  EXPECT_EQ(print(*module).find("loc("), std::string::npos);
}

TEST(RoundTrip, ParsedNamesAreRenumbered) {
  auto module = parse(
      "module @m { // a comment\n func @main(%x: f32[], %a.b-c: f32[]) -> (f32[]) {"
      "%sum = add(%x,%a.b-c):f32[] return %sum } }");
  ASSERT_TRUE(module.ok()) << module.status().message();
  EXPECT_EQ(print(*module),
            "module @m {\n  func @main(%0: f32[], %1: f32[]) -> (f32[]) {\n"
            "    %2 = add(%0, %1) : f32[]\n    return %2\n  }\n}\n");
}

}  // namespace
}  // namespace tercel::ir
