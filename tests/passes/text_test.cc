// Every file of cases/, one test each. TERCEL_BLESS=1 writes what comes out as what is expected.
#include "compiler/ir/text.h"

#include <gtest/gtest.h>

#include "case_file.h"
#include "compiler/eval/evaluator.h"
#include "compiler/ir/verifier.h"
#include "compiler/passes/pipeline.h"

namespace tercel::passes {
namespace {

// What a case's passes make of its input: a module, or the error.
std::string outcome(const std::vector<std::string>& passes, const std::string& input) {
  Result<ir::Module> module = ir::parse(input);
  if (!module.ok()) return "cannot parse: " + module.status().message() + "\n";
  if (Status s = ir::verify(*module); !s.ok()) return "not valid: " + s.message() + "\n";
  if (passes.empty()) return "not valid: the file names no passes\n";
  PipelineOptions options{.verify = true, .compute = [](const ir::Module& m) {
    return eval::evaluate(m, m.main(), {});
  }};
  for (const std::string& name : passes) {
    Status s = name == "all" ? runPipeline(*module, options) : runPass(name, *module, options);
    if (!s.ok()) return "error: " + s.message() + "\n";
  }
  return ir::print(*module);
}

class TextTest : public testing::TestWithParam<std::string> {};

TEST_P(TextTest, GivesWhatIsWritten) { checkCases(TERCEL_CASES, GetParam(), outcome); }

INSTANTIATE_TEST_SUITE_P(Cases, TextTest, testing::ValuesIn(caseNames(TERCEL_CASES)),
                         [](const auto& info) { return info.param; });

}  // namespace
}  // namespace tercel::passes
