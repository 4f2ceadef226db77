// What jax.export wrote: its StableHLO, and the names of sizes that it leaves open.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "core/status.h"

namespace tercel::tools {

struct ExportedFile {
  std::vector<std::byte> module;  // a portable artifact of StableHLO
  // Of each argument of its main, dimensions as JAX writes them: "4", "b", "2*b + 1". Empty where
  // the file does not say.
  std::vector<std::vector<std::string>> arguments;
  // Where it is for several platforms, the number of cpu, which main takes before its arguments.
  std::optional<int32_t> platform;
};

// The portable artifact inside a jax.export file (a flatbuffer); any other file as it is.
// UNIMPLEMENTED for one that was exported for other platforms than cpu.
Result<ExportedFile> readExported(std::vector<std::byte> file);

}  // namespace tercel::tools
