// What jax.export calls a symbolic dimension: "b", "2*b + 1", "floordiv(b, 2)".
#pragma once
#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "core/status.h"

namespace tercel::tools {

using Sizes = std::map<std::string, int64_t, std::less<>>;  // of names

// INVALID_ARGUMENT for a name without a size, a result that is no size, or what is no expression.
Result<int64_t> evaluateSize(std::string_view expression, const Sizes& sizes);

// Whether `name` is one of those in it.
bool names(std::string_view expression, std::string_view name);

}  // namespace tercel::tools
