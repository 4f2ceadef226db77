// Every setting of Tercel: options.def is the table. A bad value is an error, never ignored.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/status.h"

namespace tercel {

struct OptionTypes {
  using Int = int64_t;
  using Bytes = int64_t;
  using Flag = bool;
  using Text = std::string;
  using Choice = int;
};

struct Options {
#define OPTION(field, type, fallback, check, help) OptionTypes::type field = fallback;
#include "core/options.def"
};

// Sets one option by its field name; INVALID_ARGUMENT for an unknown name or a bad value.
Status setOption(Options& options, std::string_view field, std::string_view value);

// The defaults changed by the TERCEL_* environment variables. INVALID_ARGUMENT naming the variable
// and what it takes where a value is bad. Unknown TERCEL_* variables are only named in the log.
Result<Options> optionsFromEnvironment();
Result<Options> optionsFromEnvironment(const char* const* environment);

}  // namespace tercel
