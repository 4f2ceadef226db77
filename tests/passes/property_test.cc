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
#include "tools/reducer.h"

namespace tercel::passes {
namespace {

using ir::Literal;

constexpr std::string_view kAll = "the whole pipeline";

// "" where a pass, or all of them, keep what the module computes, else what is wrong.
std::string changeBy(std::string_view pass, uint64_t seed, const ir::Module& before) {
  const PipelineOptions options{.verify = true};
  const std::vector<Literal> args = RandomModule(seed).arguments(before);
  auto expected = eval::evaluate(before, before.main(), args);
  if (!expected.ok()) return std::string(expected.status().message());
  ir::Module after = before;
  Status status = pass == kAll ? runPipeline(after, options) : runPass(pass, after, options);
  if (!status.ok()) return std::string(status.message());
  auto actual = eval::evaluate(after, after.main(), args);
  if (!actual.ok()) return std::string(actual.status().message());
  if (expected->size() != actual->size()) return "another number of results";
  for (size_t i = 0; i < expected->size(); ++i)
    if (!sameLiteral((*expected)[i], (*actual)[i])) return cat("changes result ", i);
  return pass == kAll ? contractViolation(after) : "";
}

void expectKept(uint64_t seed) {
  const ir::Module module = RandomModule(seed).make(6 + static_cast<int>(seed % 30));
  Status valid = ir::verify(module);
  ASSERT_TRUE(valid.ok()) << "seed " << seed << ": " << valid.message() << ir::print(module);
  std::vector<std::string_view> passes = passNames();
  passes.push_back(kAll);
  for (std::string_view pass : passes) {
    const std::string problem = changeBy(pass, seed, module);
    if (problem.empty()) continue;
    constexpr size_t kKind = std::string_view("changes result").size();
    const ir::Module small = tools::reduce(module, [&](const ir::Module& m) {
      return changeBy(pass, seed, m).substr(0, kKind) == problem.substr(0, kKind);
    });
    FAIL() << "seed " << seed << ", " << pass << ": " << problem << "\n" << ir::print(small);
  }
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
