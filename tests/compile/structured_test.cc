// Programs of several ops.
#include <gtest/gtest.h>

#include <set>

#include "compile/cases.h"
#include "compile/native.h"
#include "compile/op_walk.h"

namespace tercel::compiler {
namespace {

class Structured : public testing::TestWithParam<Case> {};

TEST_P(Structured, IsWhatTheEvaluatorSays) { expectNative(GetParam().text); }

std::string nameOf(const testing::TestParamInfo<Case>& info) { return info.param.name; }

INSTANTIATE_TEST_SUITE_P(Written, Structured, testing::ValuesIn(writtenCases()), nameOf);
INSTANTIATE_TEST_SUITE_P(Reductions, Structured, testing::ValuesIn(reductionCases()), nameOf);
INSTANTIATE_TEST_SUITE_P(Products, Structured, testing::ValuesIn(dotCases()), nameOf);

// What has no case here, and why.
const std::set<std::string_view> kWithout = {
    "composite",          // becomes a call or is refused by name
    "custom_call",        // no target is known without a runtime
    "after_all",          // tokens, which only custom calls make
    "rng_bit_generator",  // not generated yet
};

TEST(Coverage, EveryOpHasACase) {
  std::set<std::string_view> seen = kWithout;
  for (ir::OpKind kind : elementwiseOps()) seen.insert(ir::opName(kind));
  for (const Case& c : oneOfEachWrittenCase()) {
    ir::Module module = moduleOf(c.text);
    for (uint32_t i = 0; i < module.opCount(); ++i)
      seen.insert(ir::opName(module.op(ir::OpId{i}).kind));
  }
#define OP(name, operands, regions, cls) \
  EXPECT_TRUE(seen.contains(#name)) << #name << " has no case";
#include "compiler/ir/ops.def"
}

}  // namespace
}  // namespace tercel::compiler
