// Every file of cases/, one test each: a module as it leaves the passes, and its plan.
// TERCEL_BLESS=1 writes what comes out as what is expected.
#include "compiler/ir/text.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>

#include "case_file.h"
#include "compiler/ir/verifier.h"
#include "compiler/passes/pipeline.h"
#include "compiler/plan/plan.h"

namespace tercel::plan {
namespace {

std::string outcome(const std::vector<std::string>& passes, const std::string& input) {
  Result<ir::Module> module = ir::parse(input);
  if (!module.ok()) return "cannot parse: " + module.status().message() + "\n";
  if (Status s = ir::verify(*module); !s.ok()) return "not valid: " + s.message() + "\n";
  for (const std::string& name : passes)
    if (Status s = passes::runPass(name, *module, {}); !s.ok()) return "error: " + s.message();
  Result<Plan> plan = makePlan(*module);
  return plan.ok() ? print(*module, *plan) : "error: " + plan.status().message() + "\n";
}

class TextTest : public testing::TestWithParam<std::string> {};

TEST_P(TextTest, GivesWhatIsWritten) {
  std::string path = std::string(TERCEL_CASES) + "/" + GetParam() + ".txt";
  passes::CaseFile file = passes::readCases(path);
  ASSERT_FALSE(file.cases.empty()) << path;
  for (passes::Case& c : file.cases) {
    std::string actual = outcome(file.passes, c.input);
    EXPECT_FALSE(actual.starts_with("cannot parse") || actual.starts_with("not valid"))
        << path << ":" << c.line << ": " << actual;
    if (std::getenv("TERCEL_BLESS"))
      c.expected = actual;
    else
      EXPECT_EQ(actual, c.expected) << path << ":" << c.line << ": " << c.title;
  }
  if (std::getenv("TERCEL_BLESS")) passes::writeCases(path, file);
}

std::vector<std::string> caseFiles() {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(TERCEL_CASES))
    names.push_back(entry.path().stem().string());
  std::sort(names.begin(), names.end());
  return names;
}

INSTANTIATE_TEST_SUITE_P(Cases, TextTest, testing::ValuesIn(caseFiles()),
                         [](const auto& info) { return info.param; });

}  // namespace
}  // namespace tercel::plan
