// Text -> text cases. A file names its passes in its first line and then holds cases:
//
//   // passes: canonicalise dce
//   // case: what it shows
//   module ...
//   // gives
//   module ...
#pragma once
#include <string>
#include <string_view>
#include <vector>

namespace tercel::passes {

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

CaseFile readCases(const std::string& path);
void writeCases(const std::string& path, const CaseFile& file);

}  // namespace tercel::passes
