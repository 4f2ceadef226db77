#include "case_file.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

namespace tercel::passes {
namespace {

struct Case {
  std::string title;
  std::string input;
  std::string expected;
  int line = 0;
};

struct CaseFile {
  std::vector<std::string> passes;
  std::vector<Case> cases;
};

constexpr std::string_view kPasses = "// passes:";
constexpr std::string_view kCase = "// case: ";
constexpr std::string_view kGives = "// gives";

CaseFile readCases(const std::string& path) {
  std::ifstream in(path);
  CaseFile file;
  std::string* text = nullptr;
  std::string line;
  for (int number = 1; std::getline(in, line); ++number) {
    if (line.starts_with(kPasses)) {
      std::istringstream names(line.substr(kPasses.size()));
      for (std::string name; names >> name;) file.passes.push_back(name);
    } else if (line.starts_with(kCase)) {
      file.cases.push_back({.title = line.substr(kCase.size()), .line = number});
      text = &file.cases.back().input;
    } else if (line == kGives && !file.cases.empty()) {
      text = &file.cases.back().expected;
    } else if (text && !line.empty()) {
      *text += line + "\n";
    }
  }
  return file;
}

void writeCases(const std::string& path, const CaseFile& file) {
  std::ofstream out(path);
  out << kPasses;
  for (const std::string& name : file.passes) out << ' ' << name;
  out << '\n';
  for (const Case& c : file.cases)
    out << '\n' << kCase << c.title << '\n' << c.input << kGives << '\n' << c.expected;
}

}  // namespace

std::vector<std::string> caseNames(const std::string& folder) {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(folder))
    names.push_back(entry.path().stem().string());
  std::sort(names.begin(), names.end());
  return names;
}

void checkCases(const std::string& folder, const std::string& name, const Outcome& outcome) {
  std::string path = folder + "/" + name + ".txt";
  CaseFile file = readCases(path);
  ASSERT_FALSE(file.cases.empty()) << path;
  bool bless = std::getenv("TERCEL_BLESS");
  for (Case& c : file.cases) {
    std::string actual = outcome(file.passes, c.input);
    EXPECT_FALSE(actual.starts_with("cannot parse") || actual.starts_with("not valid"))
        << path << ":" << c.line << ": " << actual;
    if (bless)
      c.expected = actual;
    else
      EXPECT_EQ(actual, c.expected) << path << ":" << c.line << ": " << c.title;
  }
  if (bless) writeCases(path, file);
}

}  // namespace tercel::passes
