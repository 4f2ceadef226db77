// Every file of cases/, one test each: a module as it leaves the passes, and its plan; or with
// slice_loops, fork_rows or tile_loops as its last pass, what that makes of it.
// TERCEL_BLESS=1 writes what comes out as what is expected.
#include "compiler/ir/text.h"

#include <gtest/gtest.h>

#include "case_file.h"
#include "compiler/ir/verifier.h"
#include "compiler/passes/pipeline.h"
#include "compiler/plan/fork_rows.h"
#include "compiler/plan/plan.h"
#include "compiler/plan/slice_loops.h"
#include "compiler/plan/tile_loops.h"

namespace tercel::plan {
namespace {

std::string rewritten(ir::Module& module, bool (*rewrite)(ir::Module&)) {
  if (!rewrite(module)) return "unchanged\n";
  const Status valid = ir::verify(module);
  return valid.ok() ? ir::print(module) : "not valid: " + valid.message() + "\n";
}

std::string outcome(const std::vector<std::string>& passes, const std::string& input) {
  Result<ir::Module> module = ir::parse(input);
  if (!module.ok()) return "cannot parse: " + module.status().message() + "\n";
  if (Status s = ir::verify(*module); !s.ok()) return "not valid: " + s.message() + "\n";
  for (const std::string& name : passes) {
    if (name == "slice_loops") return rewritten(*module, sliceLoops);
    if (name == "fork_rows") return rewritten(*module, forkRows);
    if (name == "tile_loops") return rewritten(*module, loopOverTiles);
    if (Status s = passes::runPass(name, *module, {}); !s.ok()) return "error: " + s.message();
  }
  Result<Plan> plan = makePlan(*module);
  return plan.ok() ? print(*module, *plan) : "error: " + plan.status().message() + "\n";
}

class TextTest : public testing::TestWithParam<std::string> {};

TEST_P(TextTest, GivesWhatIsWritten) { passes::checkCases(TERCEL_CASES, GetParam(), outcome); }

INSTANTIATE_TEST_SUITE_P(Cases, TextTest, testing::ValuesIn(passes::caseNames(TERCEL_CASES)),
                         [](const auto& info) { return info.param; });

}  // namespace
}  // namespace tercel::plan
