// What fuzzing has found stays mended, and what it begins with is in order.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>

#include "core/status.h"
#include "fuzz/targets.h"

namespace tercel::test {
namespace {

// "" or what is wrong.
std::string tried(const Target& target, const std::string& input) {
  try {
    target.run(input);
  } catch (const Finding& finding) {
    return finding.why;
  } catch (const CheckFailure& failure) {
    return failure.message;
  }
  return "";
}

class Fuzz : public testing::TestWithParam<Target> {};

// findings/TARGET.what_it_was.txt
TEST_P(Fuzz, FindingsStayMended) {
  const std::string prefix = cat(GetParam().name, ".");
  for (const auto& entry : std::filesystem::directory_iterator(TERCEL_FINDINGS)) {
    if (!entry.path().filename().string().starts_with(prefix)) continue;
    EXPECT_EQ(tried(GetParam(), loadFile(entry.path())), "") << entry.path();
  }
}

TEST_P(Fuzz, ExamplesAreInOrder) {
  const char* artifacts = std::getenv("TERCEL_STABLEHLO_CORPUS");
  if (artifacts == nullptr || !std::filesystem::is_directory(artifacts)) GTEST_SKIP() << "no corpus";
  const std::vector<std::string> examples = GetParam().examples(artifacts);
  EXPECT_FALSE(examples.empty());
  for (const std::string& example : examples) EXPECT_EQ(tried(GetParam(), example), "") << example;
}

INSTANTIATE_TEST_SUITE_P(Targets, Fuzz, testing::ValuesIn(targets().begin(), targets().end()),
                         [](const auto& info) { return std::string(info.param.name); });

TEST(FuzzTargets, EachFindingHasATarget) {
  for (const auto& entry : std::filesystem::directory_iterator(TERCEL_FINDINGS)) {
    const std::string name = entry.path().filename().string();
    EXPECT_NE(findTarget(name.substr(0, name.find('.'))), nullptr) << name;
  }
}

}  // namespace
}  // namespace tercel::test
