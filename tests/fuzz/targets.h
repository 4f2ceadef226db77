// What reads what others wrote, and what must hold of it, whatever comes.
#pragma once
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tercel::test {

// What is wrong with how an input was read.
struct Finding {
  std::string why;
};

struct Target {
  std::string_view name;
  bool is_text;  // else bytes
  // Good inputs: made of a folder of StableHLO artifacts, or put together by hand.
  std::vector<std::string> (*examples)(const std::filesystem::path& artifacts);
  // Throws a Finding, or CheckFailure; a refusal in good order is none.
  void (*run)(const std::string& input);
};

std::span<const Target> targets();
const Target* findTarget(std::string_view name);  // null where there is none
std::string loadFile(const std::filesystem::path& path);

}  // namespace tercel::test
