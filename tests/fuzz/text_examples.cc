#include "fuzz/text_examples.h"

#include <algorithm>
#include <fstream>

#include "compiler/ir/text.h"
#include "compiler/kernel/cluster.h"
#include "compiler/kernel/text.h"
#include "compiler/plan/plan.h"
#include "ir/op_examples.h"

namespace tercel::test {
namespace {

using Texts = std::vector<std::string>;

// The modules of a file of cases: from their first line to the brace that ends them.
void addModules(const std::filesystem::path& file, Texts& texts) {
  std::ifstream in(file);
  std::string module;
  for (std::string line; std::getline(in, line);) {
    if (line.starts_with("module @")) module = "";
    else if (module.empty()) continue;
    module += line + "\n";
    if (line != "}") continue;
    texts.push_back(module);
    module.clear();
  }
}

Texts modulesOfCases(const std::filesystem::path& folder) {
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(folder))
    files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  Texts texts;
  for (const auto& file : files) addModules(file, texts);
  return texts;
}

}  // namespace

std::vector<std::string> textExamples() {
  Texts texts;
  for (const ir::OpExample& example : ir::kOpExamples) texts.push_back(ir::moduleOf(example));
  for (const char* folder : {TERCEL_PASS_CASES, TERCEL_PLAN_CASES, TERCEL_REDUCED})
    std::ranges::move(modulesOfCases(folder), std::back_inserter(texts));
  return texts;
}

std::vector<std::string> kernelsOf(const std::filesystem::path&) {
  Texts texts;
  for (const std::string& text : modulesOfCases(TERCEL_PLAN_CASES)) {
    Result<ir::Module> module = ir::parse(text);
    if (!module.ok()) continue;
    Result<plan::Plan> plan = plan::makePlan(*module);
    if (!plan.ok()) continue;
    for (const kernel::Cluster& cluster : plan->clusters)
      if (Result<kernel::Kernel> kernel = kernel::lower(*module, cluster, {}); kernel.ok())
        texts.push_back(kernel::print(*kernel));
  }
  return texts;
}

}  // namespace tercel::test
