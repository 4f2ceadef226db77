#include "core/options.h"

#include <unistd.h>

#include <cctype>
#include <charconv>
#include <initializer_list>
#include <limits>
#include <span>

#include "core/log.h"

namespace tercel {
namespace {

using Numbers = std::initializer_list<int64_t>;
using Words = std::initializer_list<std::string_view>;

bool parseNumber(std::string_view text, int64_t& number) {
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size() && !text.empty();
}

// Each parser returns what the option takes where it does not take the value, and else nothing.
std::string parseInt(std::string_view text, int64_t& value, Numbers range) {
  int64_t least = range.begin()[0], most = range.begin()[1], number = 0;
  if (!parseNumber(text, number) || number < least || number > most) {
    return cat("a number from ", least, " to ", most);
  }
  value = number;
  return "";
}

std::string parseBytes(std::string_view text, int64_t& value, Numbers) {
  constexpr std::string_view kUnits = "KMGT";
  int shift = 0;
  if (!text.empty()) {
    char last = static_cast<char>(std::toupper(static_cast<unsigned char>(text.back())));
    if (size_t unit = kUnits.find(last); unit != std::string_view::npos) {
      shift = 10 * static_cast<int>(unit + 1);
      text.remove_suffix(1);
    }
  }
  int64_t number = 0;
  if (!parseNumber(text, number) || number < 0 ||
      number > (std::numeric_limits<int64_t>::max() >> shift)) {
    return "a number of bytes, as in 4096 or 16G";
  }
  value = number << shift;
  return "";
}

std::string parseFlag(std::string_view text, bool& value, Numbers) {
  bool yes = text == "1" || text == "true" || text == "on";
  bool no = text == "0" || text == "false" || text == "off";
  if (!yes && !no) return "0, 1, true, false, on or off";
  value = yes;
  return "";
}

std::string parseText(std::string_view text, std::string& value, Numbers) {
  value = text;
  return "";
}

std::string parseChoice(std::string_view text, int& value, Words words) {
  std::string all;
  int place = 0;
  for (std::string_view word : words) {
    if (word == text) {
      value = place;
      return "";
    }
    all += cat(place++ ? ", " : "one of ", word);
  }
  return all;
}

#define TERCEL_UNWRAP(...) __VA_ARGS__

// False where there is no such option; `expected` is set where the value is bad.
bool assign(Options& options, std::string_view field, std::string_view value,
            std::string& expected) {
#define OPTION(name, type, fallback, check, help)                       \
  if (field == #name) {                                                 \
    expected = parse##type(value, options.name, {TERCEL_UNWRAP check}); \
    return true;                                                        \
  }
#include "core/options.def"
  return false;
}

std::string variableName(std::string_view field) {
  std::string name = "TERCEL_";
  for (char c : field) name += static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return name;
}

std::string fieldName(std::string_view variable) {
  std::string field;
  for (char c : variable.substr(7)) {
    field += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  }
  return field;
}

}  // namespace

Status setOption(Options& options, std::string_view field, std::string_view value) {
  std::string expected;
  if (!assign(options, field, value, expected)) {
    return invalidArgument("no such Tercel option: ", field);
  }
  if (expected.empty()) return Status();
  return invalidArgument("option ", field, " = '", value, "': expected ", expected);
}

Result<Options> optionsFromEnvironment(const char* const* environment) {
  Options options;
  std::string unknown;
  for (; *environment; ++environment) {
    std::string_view entry = *environment;
    size_t equals = entry.find('=');
    if (!entry.starts_with("TERCEL_") || equals == std::string_view::npos) continue;
    std::string_view variable = entry.substr(0, equals), value = entry.substr(equals + 1);
    std::string field = fieldName(variable), expected;
    if (variable != variableName(field) || !assign(options, field, value, expected)) {
      unknown += cat(unknown.empty() ? "" : ", ", variable);
    } else if (!expected.empty()) {
      return invalidArgument(variable, "='", value, "': expected ", expected);
    }
  }
  setLogLevel(static_cast<LogLevel>(options.log));
  if (!unknown.empty()) TERCEL_LOG(warning, "unknown environment variables: ", unknown);
  return options;
}

Result<Options> optionsFromEnvironment() { return optionsFromEnvironment(environ); }

}  // namespace tercel
