#include "case_file.h"

#include <fstream>
#include <sstream>

namespace tercel::passes {
namespace {

constexpr std::string_view kPasses = "// passes:";
constexpr std::string_view kCase = "// case: ";
constexpr std::string_view kGives = "// gives";

}  // namespace

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

}  // namespace tercel::passes
