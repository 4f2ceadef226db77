// The words of a command line: flags `--name` and `--name=value` (of a few also `--name value`; -o is
// --output), and the rest.
#pragma once
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "core/status.h"

namespace tercel::tools {

class CommandLine {
 public:
  CommandLine(int argc, char** argv);

  // Each takes what it finds; unknownFlag() then names one that nobody took.
  bool flag(std::string_view name);
  std::string value(std::string_view name, std::string_view fallback = "");
  std::vector<std::string> values(std::string_view name);  // of a flag given several times
  Result<int64_t> number(std::string_view name, int64_t fallback,
                         int64_t least = std::numeric_limits<int64_t>::min());
  const std::vector<std::string>& words() const { return words_; }
  Status unknownFlag() const;

 private:
  std::vector<std::string> flags_;
  std::vector<std::string> words_;
};

Result<std::vector<std::byte>> readFile(const std::string& path);  // "-": standard input

// Runs a tool, and prints its error, if there is one; the exit status of the process.
int runTool(std::string_view tool, Status (*run)(CommandLine), CommandLine line);

}  // namespace tercel::tools
