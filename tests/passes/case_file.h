// Text -> text cases. A file names its passes in its first line and then holds cases:
//
//   // passes: canonicalise dce
//   // case: what it shows
//   module ...
//   // gives
//   module ...
#pragma once
#include <functional>
#include <string>
#include <vector>

namespace tercel::passes {

// What a case's input becomes by the passes of its file.
using Outcome =
    std::function<std::string(const std::vector<std::string>& passes, const std::string& input)>;

// The files of a folder, without ".txt", sorted.
std::vector<std::string> caseNames(const std::string& folder);
// Expects of each case of a file that it comes out as written; with TERCEL_BLESS=1 in the
// environment what comes out is written instead.
void checkCases(const std::string& folder, const std::string& name, const Outcome& outcome);

}  // namespace tercel::passes
