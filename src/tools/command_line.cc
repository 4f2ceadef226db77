#include "tools/command_line.h"

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <new>
#include <span>
#include <utility>

namespace tercel::tools {
namespace {

// Flags whose value may be the next word.
constexpr std::string_view kWithValue[] = {
    "--output", "--procedure", "--input",   "--expect",      "--size",              "--shape",
    "--name",   "--targets",   "--weights", "--num-threads", "--optimization-level", "--artifact"};

Status guarded(Status (*run)(CommandLine), CommandLine line) try {
  return run(std::move(line));
} catch (const CheckFailure& failure) {
  return internalError(failure.message);
} catch (const std::bad_alloc&) {
  return resourceExhausted("out of memory");
} catch (const std::exception& exception) {
  return internalError(exception.what());
}

}  // namespace

CommandLine::CommandLine(int argc, char** argv) {
  for (int i = 1; i < argc; ++i) {
    std::string_view word = argv[i];
    if (word == "-o") word = "--output";
    const bool takes_next = std::find(std::begin(kWithValue), std::end(kWithValue), word) !=
                            std::end(kWithValue);
    if (takes_next && i + 1 < argc)
      flags_.push_back(cat(word.substr(2), "=", argv[++i]));
    else if (word.starts_with("--"))
      flags_.emplace_back(word.substr(2));
    else
      words_.emplace_back(word);
  }
}

bool CommandLine::flag(std::string_view name) {
  return std::erase(flags_, name) > 0;
}

std::vector<std::string> CommandLine::values(std::string_view name) {
  std::vector<std::string> found;
  std::string prefix = std::string(name) + "=";
  std::erase_if(flags_, [&](const std::string& flag) {
    if (!flag.starts_with(prefix)) return false;
    found.push_back(flag.substr(prefix.size()));
    return true;
  });
  return found;
}

std::string CommandLine::value(std::string_view name, std::string_view fallback) {
  std::vector<std::string> found = values(name);
  return found.empty() ? std::string(fallback) : found.back();
}

Result<int64_t> CommandLine::number(std::string_view name, int64_t fallback, int64_t least) {
  std::string text = value(name);
  if (text.empty()) return fallback;
  int64_t number = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size())
    return invalidArgument("--", name, " takes a number, not '", text, "'");
  if (number < least)
    return invalidArgument("--", name, " takes a number of at least ", least, ", not ", number);
  return number;
}

Status CommandLine::unknownFlag() const {
  if (flags_.empty()) return {};
  return invalidArgument("there is no flag --", flags_.front(), "; see --help");
}

Result<std::vector<std::byte>> readFile(const std::string& path) {
  std::string text;
  if (path == "-") {
    text.assign(std::istreambuf_iterator<char>(std::cin), {});
  } else {
    if (std::filesystem::is_directory(path)) return invalidArgument(path, " is a folder");
    std::ifstream in(path, std::ios::binary);
    if (!in) return Status(Code::not_found, cat("cannot read ", path));
    text.assign(std::istreambuf_iterator<char>(in), {});
  }
  auto bytes = std::as_bytes(std::span(text));
  return std::vector<std::byte>(bytes.begin(), bytes.end());
}

int runTool(std::string_view tool, Status (*run)(CommandLine), CommandLine line) {
  const Status status = guarded(run, std::move(line));
  if (status.ok()) return 0;
  std::fprintf(stderr, "%.*s: %s\n", static_cast<int>(tool.size()), tool.data(),
               status.message().c_str());
  return 1;
}

}  // namespace tercel::tools
