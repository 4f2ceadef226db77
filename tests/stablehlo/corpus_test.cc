// Reads every artifact of a corpus (make_corpus.py) and compares it with MLIR's own
// reading. The corpus: TERCEL_STABLEHLO_CORPUS.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>

#include "compiler/ir/verifier.h"
#include "compiler/stablehlo/reader.h"
#include "stablehlo/listing.h"

namespace tercel::stablehlo {
namespace {

std::string contents(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::vector<std::filesystem::path> artifacts() {
  std::vector<std::filesystem::path> paths;
  const char* corpus = std::getenv("TERCEL_STABLEHLO_CORPUS");
  if (corpus == nullptr) return paths;
  for (const auto& entry : std::filesystem::directory_iterator(corpus))
    if (entry.path().extension() == ".bc") paths.push_back(entry.path());
  std::sort(paths.begin(), paths.end());
  return paths;
}

struct Expected {
  std::vector<std::string> may_refuse;  // any of these words in the message
  std::vector<std::string> lines;
};

Expected expected(const std::filesystem::path& artifact) {
  std::filesystem::path path = artifact;
  std::istringstream text(contents(path.replace_extension(".txt")));
  Expected out;
  std::string line, word;
  std::getline(text, line);
  std::istringstream words(line.substr(line.find(':') + 1));
  while (words >> word) out.may_refuse.push_back(word);
  while (std::getline(text, line)) out.lines.push_back(line);
  return out;
}

bool mayRefuse(const Expected& expected, const Status& status) {
  return status.code() == Code::unimplemented &&
         std::any_of(expected.may_refuse.begin(), expected.may_refuse.end(), [&](const auto& word) {
           return status.message().find(word) != std::string::npos;
         });
}

// "# what" alone is a program that MLIR's Python cannot list, or that is read as other ops.
void compare(const std::vector<std::string>& expected, const std::vector<std::string>& lines) {
  if (expected.size() == 1 && expected[0].starts_with("# ")) return;
  for (size_t i = 0; i < std::min(expected.size(), lines.size()); ++i)
    ASSERT_TRUE(matches(expected[i], lines[i]))
        << "line " << i + 1 << "\nexpected: " << expected[i] << "\n     got: " << lines[i];
  EXPECT_EQ(expected.size(), lines.size());
}

TEST(StablehloCorpus, ReadsLikeMlir) {
  std::vector<std::filesystem::path> paths = artifacts();
  if (paths.empty()) GTEST_SKIP() << "no corpus";
  size_t refused = 0;
  for (const auto& path : paths) {
    SCOPED_TRACE(path.filename());
    std::string bytes = contents(path);
    Expected want = expected(path);
    Result<ir::Module> module = readStablehlo(std::as_bytes(std::span(bytes)));
    if (!module.ok()) {
      EXPECT_TRUE(mayRefuse(want, module.status())) << module.status().message();
      ++refused;
      continue;
    }
    compare(want.lines, listing(*module));
    Status verified = ir::verify(*module);
    EXPECT_TRUE(verified.ok()) << verified.message();
  }
  std::cout << paths.size() << " artifacts, " << refused << " refused by name\n";
}

}  // namespace
}  // namespace tercel::stablehlo
