// Every elementwise op on every element type that the IR lets it have.
#include <gtest/gtest.h>

#include "compile/native.h"
#include "compile/op_walk.h"

namespace tercel::compiler {
namespace {

class Elementwise : public testing::TestWithParam<ir::OpKind> {};

// One module for all types and shapes of an op; where it fails, one for each tells which.
TEST_P(Elementwise, IsWhatTheEvaluatorSays) {
  std::vector<Use> uses = usesOf(GetParam());
  ASSERT_FALSE(uses.empty());
  for (bool complex : {false, true}) {
    std::vector<Use> group;
    for (const Use& use : uses)
      if (use.is_complex == complex) group.push_back(use);
    if (group.empty()) continue;
    Numbers numbers = numbersFor(GetParam(), complex);
    Closeness closeness = closenessOf(GetParam(), complex);
    std::string wrong = nativeError(moduleOf(functionOf(group)), numbers, closeness);
    if (wrong.empty()) continue;
    int failures = 0;
    for (const Use& use : group) {
      std::string text = functionOf({&use, 1});
      std::string error = nativeError(moduleOf(text), numbers, closeness);
      if (!error.empty()) ++failures;
      EXPECT_EQ(error, "") << text;
    }
    EXPECT_GT(failures, 0) << "only together: " << wrong;
  }
}

INSTANTIATE_TEST_SUITE_P(Ops, Elementwise, testing::ValuesIn(elementwiseOps()),
                         [](const testing::TestParamInfo<ir::OpKind>& info) {
                           return std::string(ir::opName(info.param));
                         });

}  // namespace
}  // namespace tercel::compiler
