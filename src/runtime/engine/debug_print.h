// jax.debug.print without Python: tercel.aot makes it a custom call to kDebugPrint without results
// whose configuration is {format = "x = {0} and {1:.3f}"}, where numbers are operands.
#pragma once
#include <string>
#include <string_view>

#include "core/status.h"
#include "runtime/engine/runner.h"

namespace tercel::engine {

inline constexpr std::string_view kDebugPrint = "tercel_debug_print";

// The line that the call stands for. Numbers are as short as they can be and still tell the value,
// or as a format like .3f, 8.2e or 5d says; of long arrays both ends are shown.
Result<std::string> debugText(const CustomCall& call);

// Writes it to stderr.
Status debugPrint(const CustomCall& call);

}  // namespace tercel::engine
