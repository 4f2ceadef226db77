// What a module computes is the same before and after each pass, to the bit.
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>

#include "compiler/eval/evaluator.h"
#include "compiler/ir/text.h"
#include "compiler/ir/verifier.h"
#include "compiler/passes/pipeline.h"
#include "contract.h"
#include "random_module.h"
#include "same_literal.h"

namespace tercel::passes {
namespace {

using ir::Literal;

void expectSame(const std::string& pass, uint64_t seed, const ir::Module& before,
                const ir::Module& after, const std::vector<Literal>& args) {
  auto expected = eval::evaluate(before, before.main(), args);
  ASSERT_TRUE(expected.ok()) << expected.status().message();
  auto actual = eval::evaluate(after, after.main(), args);
  ASSERT_TRUE(actual.ok()) << pass << " seed " << seed << ": " << actual.status().message();
  ASSERT_EQ(expected->size(), actual->size());
  for (size_t i = 0; i < expected->size(); ++i)
    ASSERT_TRUE(sameLiteral((*expected)[i], (*actual)[i]))
        << pass << " changes result " << i << " of seed " << seed << "\n"
        << ir::print(before) << ir::print(after);
}

void expectKept(uint64_t seed) {
  RandomModule random(seed);
  ir::Module module = random.make(6 + static_cast<int>(seed % 30));
  Status valid = ir::verify(module);
  ASSERT_TRUE(valid.ok()) << "seed " << seed << ": " << valid.message() << ir::print(module);
  std::vector<Literal> args = random.arguments(module);
  PipelineOptions options{.verify = true};
  for (std::string_view pass : passNames()) {
    ir::Module changed = module;
    Status s = runPass(pass, changed, options);
    ASSERT_TRUE(s.ok()) << "seed " << seed << ": " << s.message() << "\n" << ir::print(module);
    expectSame(std::string(pass), seed, module, changed, args);
    if (testing::Test::HasFatalFailure()) return;
  }
  ir::Module changed = module;
  Status s = runPipeline(changed, options);
  ASSERT_TRUE(s.ok()) << "seed " << seed << ": " << s.message() << "\n" << ir::print(module);
  expectSame("the pipeline", seed, module, changed, args);
  ASSERT_EQ("", contractViolation(changed)) << "seed " << seed << "\n" << ir::print(changed);
}

// TERCEL_SEEDS=first:count looks further.
TEST(Property, PassesKeepWhatAModuleComputes) {
  uint64_t first = 0, count = 1000;
  if (const char* seeds = std::getenv("TERCEL_SEEDS")) {
    ASSERT_EQ(2, sscanf(seeds, "%lu:%lu", &first, &count));
  }
  for (uint64_t seed = first; seed < first + count; ++seed) {
    expectKept(seed);
    if (HasFatalFailure()) return;
  }
}

}  // namespace
}  // namespace tercel::passes
