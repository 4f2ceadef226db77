// What jax.export wrote: its StableHLO.
#pragma once
#include <span>
#include <vector>

#include "core/status.h"

namespace tercel::tools {

// The portable artifact inside a jax.export file (a flatbuffer); any other file as it is.
// UNIMPLEMENTED for one that was exported for other platforms than cpu, or for several.
Result<std::vector<std::byte>> stablehloOf(std::vector<std::byte> file);

}  // namespace tercel::tools
