// Every op of the table is evaluated, on the examples that the text form is tested with.
#include <gtest/gtest.h>

#include "../ir/op_examples.h"
#include "compiler/eval/evaluator.h"
#include "compiler/ir/text.h"

namespace tercel::eval {
namespace {

using ir::OpKind;

constexpr OpKind kAllOps[] = {
#define OP(name, operands, regions, cls) OpKind::name##_,
#include "compiler/ir/ops.def"
};

TEST(Coverage, EveryOpHasAnEvaluation) {
  for (OpKind kind : kAllOps) EXPECT_TRUE(canEvaluate(kind)) << ir::opName(kind);
}

Literals onesFor(const ir::Module& module) {
  Literals args;
  for (ir::Value v : module.region(module.main().body).args)
    args.push_back(ir::Literal::splatOf(module.shape(v), 1).expanded());
  return args;
}

class Example : public testing::TestWithParam<ir::OpExample> {};

TEST_P(Example, IsEvaluated) {
  auto module = ir::parse(moduleOf(GetParam()));
  ASSERT_TRUE(module.ok()) << module.status().message();
  std::vector<std::string_view> seen;
  EvalOptions options;
  options.observer = [&](const ir::Op& op, Operands results) {
    seen.push_back(ir::opName(op.kind));
    EXPECT_EQ(results.size(), op.results.size());
  };
  Result<Literals> results = evaluate(*module, module->main(), onesFor(*module), options);
  if (GetParam().body.find("a target") != std::string_view::npos) {
    EXPECT_EQ(results.status().code(), Code::unimplemented);
    EXPECT_NE(results.status().message().find("a target"), std::string::npos);
    return;
  }
  ASSERT_TRUE(results.ok()) << results.status().message();
  ASSERT_FALSE(seen.empty());
  EXPECT_EQ(seen.back(), GetParam().op);
}

INSTANTIATE_TEST_SUITE_P(Ops, Example, testing::ValuesIn(ir::kOpExamples),
                         [](const testing::TestParamInfo<ir::OpExample>& info) {
                           return cat(info.param.op, "_", info.index);
                         });

}  // namespace
}  // namespace tercel::eval
